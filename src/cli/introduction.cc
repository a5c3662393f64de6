#include "cli/introduction.h"

#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

// Whom to trust at all of them. One that is not there now is left for later: whatever answers at
// its address has to show a certificate of those that were recognised. Each that is there has to
// have the pin.
std::expected<std::string, Failure> recognise_each(const std::vector<Address>& addresses,
                                                   const Introduction& introduction) {
  std::string trusted;
  std::optional<Failure> absent;
  const Duration each = introduction.timeout / addresses.size();
  for (const Address& address : addresses) {
    const auto found = first_contact(address, introduction.recognition, each);
    const bool is_absent = !found && (found.error().exit == Exit::NoController ||
                                      found.error().exit == Exit::TimedOut);
    if (!found && !is_absent) return found;
    if (is_absent && !absent) absent = found.error();
    if (found && !trusted.contains(*found)) trusted += *found;
  }
  if (trusted.empty()) return std::unexpected(*absent);
  return trusted;
}

}  // namespace

std::expected<std::unique_ptr<Client>, Failure> introduce(const Introduction& introduction) {
  const auto addresses = parse_addresses(introduction.server);
  if (!addresses) return std::unexpected(addresses.error());
  ClientOptions options{.server = addresses->text, .timeout = introduction.timeout};
  if (!addresses->is_unix) {
    const auto trusted = recognise_each(addresses->each, introduction);
    if (!trusted) return std::unexpected(trusted.error());
    options.tls = rpc::TlsOptions{.ca_pem = *trusted,
                                  .server_name = std::string(identity::kControllerServerName)};
  }
  return std::make_unique<Client>(std::move(options));
}

Result<KeyAndRequest> make_key_and_request() {
  KeyAndRequest made;
  TRY(made.private_key_pem, identity::make_private_key());
  TRY(made.request_pem, identity::make_request(made.private_key_pem));
  return made;
}

}  // namespace holdfast::cli
