#include "cli/introduction.h"

#include "identity/certificate.h"

namespace holdfast::cli {

std::expected<std::unique_ptr<Client>, Failure> introduce(const Introduction& introduction) {
  const auto address = parse_address(introduction.server);
  if (!address) return std::unexpected(address.error());
  ClientOptions options{.server = address->text(), .timeout = introduction.timeout};
  if (!address->is_unix()) {
    const auto trusted = first_contact(*address, introduction.recognition, introduction.timeout);
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
