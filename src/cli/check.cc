// holdfast check: finds everything out, judges it, goes on after a failure.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "cli/check_rules.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/status_commands.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

constexpr Duration kOtherHalfTimeout = std::chrono::seconds(2);
constexpr Duration kNobodyTimeout = std::chrono::seconds(4);

void ask_status(Client& client, Findings& found) {
  const SystemClock clock;
  found.asked_at = clock.wall_now();
  found.status = client.status();
  found.answered_at = clock.wall_now();
  found.asked = client.asked();
  found.asked.server = found.server;
}

bool is_no_answer(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Who does not answer the first of these is not asked the others: each would take as long.
void ask_cluster(Client& client, Findings& found) {
  found.authority = client.identity(&IdentityCalls::GetAuthority, v1::GetAuthorityRequest());
  Status last = found.authority.status();
  for (const auto& [kind, answer] : {std::pair{resource::Kind::Token, &found.tokens},
                                     {resource::Kind::Service, &found.services},
                                     {resource::Kind::Agent, &found.agents},
                                     {resource::Kind::Proxy, &found.proxies},
                                     {resource::Kind::ZoneMap, &found.zone_maps}}) {
    if (is_no_answer(last)) return;
    *answer = fetch_all(client, kind, {});
    last = answer->status();
  }
}

// The other half itself, if there is a way to it: a socket leads to one alone.
std::unique_ptr<Client> other_half(const Client& client, const Findings& found) {
  const bool paired = found.pair.ok() && found.pair->paired();
  const bool local = client.server().starts_with("unix:");
  if (!paired || local || found.pair->peer().address().empty()) return nullptr;
  ClientOptions options = client.options_for(found.pair->peer().address());
  options.timeout = std::min<Duration>(options.timeout, kOtherHalfTimeout);
  return std::make_unique<Client>(std::move(options));
}

// Nobody serves, and a question may be what makes a half begin: one is asked, and not for long.
void ask_nobody(const Client& client, Findings& found) {
  ClientOptions options = client.options_for(client.server());
  options.timeout = std::min<Duration>(options.timeout, kNobodyTimeout);
  Client hurried(std::move(options));
  ask_cluster(hurried, found);
  if (!found.authority.ok()) return;
  ask_status(hurried, found);
  found.pair = hurried.pair(&PairCalls::GetPair, {});
}

// Of the active half, whichever answered.
void ask(Client& client, Findings& found) {
  if (const Status connected = client.connect(); !connected.ok()) {
    found.status = connected;
    found.asked = client.asked();
    found.asked.server = found.server;
    return;
  }
  ask_status(client, found);
  if (!found.status.ok()) return;
  found.pair = client.pair(&PairCalls::GetPair, {});
  const std::unique_ptr<Client> other = other_half(client, found);
  if (other != nullptr) found.other_half = other->pair(&PairCalls::GetPair, {});
  if (serves_nobody(found)) return ask_nobody(client, found);
  if (!is_passive_half(found)) return ask_cluster(client, found);
  const bool follows =
      found.other_half.ok() && found.other_half->self().state() == v1::PAIR_STATE_ACTIVE;
  if (!follows) return;
  std::swap(found.pair, found.other_half);
  found.server = other->server();
  ask_status(*other, found);
  if (found.status.ok()) ask_cluster(*other, found);
}

// Fills `found` in place: it refers to its own texts.
void find_out(const Connection& connection, Findings& found) {
  auto options = find_controller(connection);
  if (!options) {
    found.unasked = options.error();
    return;
  }
  found.server = options->server;
  if (options->tls) {
    const Result<identity::Validity> validity =
        identity::validity_of(options->tls->certificate_pem);
    if (validity.ok()) found.certificate_ends = validity->not_after;
  }
  Client client(*std::move(options));
  ask(client, found);
}

}  // namespace

Exit check(const Console& console, const Connection& connection, const CheckOptions& options) {
  const std::vector<std::string_view> categories = check_categories();
  if (!options.only.empty() && std::ranges::find(categories, options.only) == categories.end()) {
    return console.report({Exit::Usage, "HF6010",
                           fmt::format("{} is not a category", in_quotes(options.only)),
                           fmt::format("use one of {}", fmt::join(categories, ", "))});
  }
  Findings found;
  find_out(connection, found);
  std::vector<CheckResult> results = judge(found);
  if (!options.only.empty()) {
    std::erase_if(results,
                  [&](const CheckResult& result) { return result.category != options.only; });
  }
  if (options.output == CheckOutput::Json) {
    print_out(checks_json(results));
  } else {
    print_out(render_checks(results, console, options.output == CheckOutput::Short));
  }
  return exit_of(count(results), options.fail_on_warning);
}

}  // namespace holdfast::cli
