// holdfast check: finds everything out, judges it, goes on after a failure.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "cli/check_rules.h"
#include "cli/listing.h"
#include "cli/output.h"
#include "cli/status_commands.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

void ask(Client& client, Findings& found) {
  const SystemClock clock;
  const Status connected = client.connect();
  found.asked_at = clock.wall_now();
  found.status = connected.ok() ? client.status() : connected;
  found.answered_at = clock.wall_now();
  found.asked = client.asked();
  found.asked.server = found.server;
  if (!found.status.ok()) return;
  found.authority = client.identity(&IdentityCalls::GetAuthority, v1::GetAuthorityRequest());
  found.tokens = fetch_all(client, resource::Kind::Token, {});
  found.services = fetch_all(client, resource::Kind::Service, {});
  found.agents = fetch_all(client, resource::Kind::Agent, {});
  found.proxies = fetch_all(client, resource::Kind::Proxy, {});
  found.zone_maps = fetch_all(client, resource::Kind::ZoneMap, {});
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
                           fmt::format("{} is not a category", quoted(options.only)),
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
