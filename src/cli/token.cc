// holdfast token create: what a node needs to join, once.
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/private_file.h"
#include "cli/identity_commands.h"
#include "cli/output.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

// NODE_ROLE_UNSPECIFIED for what is not one.
v1::NodeRole role_of(std::string_view word) {
  if (word == "controller") return v1::NODE_ROLE_CONTROLLER;
  if (word == "proxy") return v1::NODE_ROLE_PROXY;
  if (word == "agent") return v1::NODE_ROLE_AGENT;
  if (word == "witness") return v1::NODE_ROLE_WITNESS;
  return v1::NODE_ROLE_UNSPECIFIED;
}

std::string token_summary(const v1::Resource& token, const TokenOptions& options) {
  std::string text = fmt::format("Token {} for {}", token.metadata().name(), options.role);
  if (!options.node_name.empty()) text += fmt::format(" {}", options.node_name);
  if (!options.zone.empty()) text += fmt::format(" in zone {}", options.zone);
  text += options.uses == 1 ? ", once" : fmt::format(", {} times", options.uses);
  if (token.metadata().has_expires()) {
    text += fmt::format(", expires {}",
                        relative(to_wall(token.metadata().expires()), SystemClock().wall_now()));
  }
  return text + ".\n";
}

}  // namespace

Exit create_token(const Session& session, const TokenOptions& options) {
  v1::CreateTokenRequest request;
  request.set_role(role_of(options.role));
  if (request.role() == v1::NODE_ROLE_UNSPECIFIED) {
    return session.console.report({Exit::Usage, "HF6010",
                                   fmt::format("{} is not a node's role", in_quotes(options.role)),
                                   "use controller, proxy, agent or witness"});
  }
  request.set_zone(options.zone);
  request.set_node_name(options.node_name);
  request.set_uses(options.uses);
  *request.mutable_ttl() = to_proto(options.ttl);
  const Result<v1::CreateTokenResponse> made =
      session.client.identity(&IdentityCalls::CreateToken, request);
  if (!made.ok()) return session.failed(made.status());
  if (options.out.empty()) {
    print_out(made->secret() + "\n");
  } else if (const Status written = write_private_file(options.out, made->secret() + "\n");
             !written.ok()) {
    return session.console.report(
        {Exit::BadInput, "HF6001", std::string(written.message()),
         fmt::format("nobody has the token; revoke it with `holdfast token revoke {}`",
                     made->token().metadata().name())});
  }
  print_err(token_summary(made->token(), options));
  if (!options.out.empty()) print_err(fmt::format("Written to {}.\n", options.out));
  return Exit::Ok;
}

}  // namespace holdfast::cli
