// holdfast init, rotate, whoami: the cluster's authority, and who we are to it.
#include <fmt/format.h>

#include "cli/document.h"
#include "cli/identity_commands.h"
#include "cli/output.h"
#include "cli/status_text.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kDefaultCluster = "holdfast";

std::string first_pin(const v1::Authority& authority) {
  return authority.pins().empty() ? "" : authority.pins(0);
}

void print_authority(const v1::Authority& authority, Output output) {
  if (output == Output::Json || output == Output::Yaml) {
    const Document document("authority", authority);
    print_out(output == Output::Json ? document.json() : document.yaml());
    return;
  }
  print_out(fmt::format("cluster  {}\n", authority.cluster()));
  for (const std::string& pin : authority.pins()) print_out(fmt::format("pin      {}\n", pin));
}

void print_phase(const v1::Authority& authority) {
  const WallTime now = SystemClock().wall_now();
  const bool since = authority.has_phase_since();
  print_out(fmt::format("phase    {}{}\n", to_word(authority.phase()),
                        since ? ", for " + age(to_wall(authority.phase_since()), now) : ""));
}

void print_laggards(const v1::RotateResponse& response) {
  for (const std::string& laggard : response.laggards()) {
    print_out(fmt::format("waits for  {}\n", laggard));
  }
}

Exit rotation_status(const Session& session, Output output) {
  const Result<v1::Authority> authority =
      session.client.identity(&IdentityCalls::GetAuthority, v1::GetAuthorityRequest());
  if (!authority.ok()) return session.failed(authority.status());
  print_authority(*authority, output);
  if (output == Output::Json || output == Output::Yaml) return Exit::Ok;
  print_phase(*authority);
  if (!is_rotating(authority->phase())) return Exit::Ok;
  v1::RotateRequest request;
  request.set_action(v1::ROTATE_ACTION_NEXT);
  request.set_dry_run(true);
  const Result<v1::RotateResponse> next = session.client.identity(&IdentityCalls::Rotate, request);
  if (next.ok()) {
    print_err("Next: holdfast rotate next\n");
  } else {
    print_err(fmt::format("not yet: {}\n", std::string(next.status().message())));
  }
  return Exit::Ok;
}

v1::RotateAction action_of(RotateOptions::Step step) {
  switch (step) {
    case RotateOptions::Step::Start:
      return v1::ROTATE_ACTION_START;
    case RotateOptions::Step::Next:
      return v1::ROTATE_ACTION_NEXT;
    case RotateOptions::Step::Rollback:
      return v1::ROTATE_ACTION_ROLLBACK;
    default:
      return v1::ROTATE_ACTION_UNSPECIFIED;
  }
}

}  // namespace

Exit init(const Session& session, const InitOptions& options) {
  // How it is every half of a pair says, also one that serves nothing before there is a cluster.
  const Result<v1::GetStatusResponse> status = session.client.status();
  if (!status.ok()) return session.failed(status.status());
  Result<v1::Authority> authority = absl::NotFoundError("no authority yet");
  if (!status->cluster().empty()) {
    authority = session.client.identity(&IdentityCalls::GetAuthority, v1::GetAuthorityRequest());
    if (!authority.ok()) return session.failed(authority.status());
  }
  const bool there =
      authority.ok() && (options.cluster.empty() || options.cluster == authority->cluster());
  if (!there) {
    v1::InitRequest request;
    request.set_cluster(options.cluster.empty() ? std::string(kDefaultCluster) : options.cluster);
    authority = session.client.identity(&IdentityCalls::Init, request);
  }
  if (!authority.ok()) return session.failed(authority.status());
  print_authority(*authority, options.output);
  print_err(fmt::format(
      "\n{} Keep the pin: nodes and users recognise the cluster by it.\n"
      "Next, here:      holdfast token create --role agent --out token\n"
      "then on a node:  holdfast join THIS_HOST:{} --pin {} --token-file token --name NAME\n",
      there ? "The authority already exists; nothing was changed." : "The authority was made.",
      kDefaultPort, first_pin(*authority)));
  return Exit::Ok;
}

Exit rotate(const Session& session, const RotateOptions& options) {
  if (options.step == RotateOptions::Step::Status) {
    return rotation_status(session, options.output);
  }
  v1::RotateRequest request;
  request.set_action(action_of(options.step));
  request.set_dry_run(options.dry_run);
  request.set_cut_off_laggards(options.cut_off_laggards);
  const Result<v1::RotateResponse> done = session.client.identity(&IdentityCalls::Rotate, request);
  if (!done.ok()) return session.failed(done.status());
  if (options.output == Output::Json || options.output == Output::Yaml) {
    const Document document("rotation", *done);
    print_out(options.output == Output::Json ? document.json() : document.yaml());
    return Exit::Ok;
  }
  print_authority(done->authority(), options.output);
  print_phase(done->authority());
  print_laggards(*done);
  if (options.dry_run) print_err("This was a dry run; nothing was changed.\n");
  return Exit::Ok;
}

Exit whoami(const Session& session, const WhoAmIOptions& options) {
  const Result<v1::WhoAmIResponse> me =
      session.client.identity(&IdentityCalls::WhoAmI, v1::WhoAmIRequest());
  if (!me.ok()) return session.failed(me.status());
  if (options.output == Output::Json || options.output == Output::Yaml) {
    const Document document("identity", *me);
    print_out(options.output == Output::Json ? document.json() : document.yaml());
    return Exit::Ok;
  }
  print_out(me->name().empty() ? me->role() + "\n"
                               : fmt::format("{}/{}\n", me->role(), me->name()));
  if (options.output == Output::Name) return Exit::Ok;
  if (!me->cluster().empty()) print_out(fmt::format("cluster  {}\n", me->cluster()));
  if (!me->zone().empty()) print_out(fmt::format("zone     {}\n", me->zone()));
  if (!me->user_roles().empty()) {
    print_out(fmt::format("roles    {}\n", fmt::join(me->user_roles(), ", ")));
  }
  if (me->has_expires()) {
    const WallTime expires = to_wall(me->expires());
    print_out(fmt::format("expires  {} ({})\n", to_rfc3339(expires),
                          relative(expires, SystemClock().wall_now())));
  }
  return Exit::Ok;
}

}  // namespace holdfast::cli
