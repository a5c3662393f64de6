#include "cli/session.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/output.h"
#include "cli/profile.h"
#include "cli/reasons.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

Failure no_profile(const std::string& server, const std::string& folder) {
  return {Exit::BadProfile, "HF5035",
          fmt::format("{} needs a certificate, and {} holds none", server, in_quotes(folder, 256)),
          fmt::format("log in with `holdfast login --user NAME {} --pin PIN`", server)};
}

}  // namespace

std::expected<ClientOptions, Failure> find_controller(const Connection& connection) {
  ClientOptions options{
      .timeout = connection.timeout, .wait = connection.wait, .follow = connection.follow};
  const bool wanted_unix = connection.server.starts_with("unix:");
  Result<Profile> profile = absl::NotFoundError("");
  if (!wanted_unix && !connection.profile_dir.empty()) {
    profile = load_profile(connection.profile_dir);
  }
  if (!profile.ok() && !absl::IsNotFound(profile.status())) {
    return std::unexpected(Failure{Exit::BadProfile, "HF5036",
                                   std::string(profile.status().message()),
                                   std::string(find_reason("HF5036")->next)});
  }
  if (profile.ok() && profile->open_to_others) {
    print_err(fmt::format("warning: others may read the private key in {}; use chmod 600\n",
                          in_quotes(connection.profile_dir + "/identity.pem", 256)));
  }
  std::string server = connection.server;
  if (server.empty()) server = profile.ok() ? profile->server : connection.default_server;
  const auto addresses = parse_addresses(server);
  if (!addresses) return std::unexpected(addresses.error());
  options.server = addresses->text;
  if (addresses->is_unix) return options;
  if (!profile.ok()) {
    return std::unexpected(no_profile(options.server, connection.profile_dir));
  }
  options.tls = rpc::TlsOptions{.ca_pem = std::move(profile->ca_pem),
                                .certificate_pem = std::move(profile->certificate_pem),
                                .private_key_pem = std::move(profile->private_key_pem),
                                .server_name = std::string(identity::kControllerServerName)};
  return options;
}

}  // namespace holdfast::cli
