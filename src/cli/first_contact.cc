#include "cli/first_contact.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "base/bytes.h"
#include "base/private_file.h"
#include "cli/tls_peek.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;

constexpr std::string_view kPinStart = "sha256:";

std::unexpected<Failure> unrecognised(Exit exit, std::string message, std::string next) {
  return std::unexpected(Failure{exit, "HF5008", std::move(message), std::move(next)});
}

bool is_pin(std::string_view pin) {
  return pin.starts_with(kPinStart) && pin.size() == kPinStart.size() + 64 &&
         std::ranges::all_of(pin.substr(kPinStart.size()), [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Certificate read_certificate(const std::string& pem) {
  const Bio memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
}

// Whether the leaf is a controller's under this authority, and only under it; else what is wrong.
std::string what_is_wrong(const std::string& leaf_pem, const std::string& authority_pem,
                          WallTime now) {
  const Certificate leaf = read_certificate(leaf_pem);
  const Certificate authority = read_certificate(authority_pem);
  if (!leaf || !authority) return "its certificate cannot be read";
  const Store store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), authority.get());
  const Verification verification(X509_STORE_CTX_new());
  X509_STORE_CTX_init(verification.get(), store.get(), leaf.get(), nullptr);
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(verification.get());
  const std::string name(identity::kControllerServerName);
  X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size());
  X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_time(
      rules, std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  if (X509_verify_cert(verification.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get()));
}

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::expected<std::string, Failure> recognise(const std::vector<std::string>& chain,
                                              const std::vector<std::string>& pins,
                                              const std::string& server, WallTime now) {
  std::vector<std::string> wanted;
  for (const std::string& pin : pins) wanted.push_back(lower(pin));
  std::vector<std::string> shown;
  for (size_t i = 1; i < chain.size(); ++i) {  // the leaf's own key is nobody's authority
    const Result<std::string> pin = identity::pin_of(chain[i]);
    if (!pin.ok()) continue;
    shown.push_back(*pin);
    if (std::ranges::find(wanted, lower(*pin)) == wanted.end()) continue;
    const std::string wrong = what_is_wrong(chain.front(), chain[i], now);
    if (wrong.empty()) return chain[i];
    return unrecognised(
        Exit::NotPermitted,
        fmt::format("{} shows the expected authority, but its own certificate is not good: {}",
                    server, wrong),
        "somebody may be in between, or the clocks disagree; do not send it anything");
  }
  return unrecognised(
      Exit::NotPermitted,
      fmt::format("{} is not the controller that was expected: it shows {}, the pin is {}", server,
                  shown.empty() ? "no authority" : joined(shown), joined(wanted)),
      "somebody may be in between; compare with what `holdfast init` prints on the controller");
}

std::expected<std::string, Failure> first_contact(const Address& address,
                                                  const Recognition& recognition,
                                                  Duration timeout) {
  if (!recognition.ca_file.empty()) {
    Result<std::string> ca = read_small_file(recognition.ca_file);
    if (ca.ok() && identity::split_chain(*ca).ok()) return *ca;
    return std::unexpected(Failure{
        Exit::BadInput, "HF6001",
        ca.ok() ? fmt::format("{} holds no certificates", in_quotes(recognition.ca_file, 256))
                : std::string(ca.status().message()),
        ""});
  }
  if (recognition.pins.empty()) {
    return unrecognised(Exit::Usage, "without a pin anybody could answer in the controller's place",
                        "give --pin, as `holdfast init` prints it on the controller, or --ca FILE");
  }
  for (const std::string& pin : recognition.pins) {
    if (is_pin(pin)) continue;
    return unrecognised(Exit::Usage, fmt::format("{} is not a pin", in_quotes(pin, 96)),
                        "a pin is sha256: and 64 hexadecimal digits");
  }
  const Result<std::vector<std::string>> chain = peek_chain(address, timeout);
  if (!chain.ok()) return std::unexpected(explain(chain.status(), {.server = address.text()}));
  return recognise(*chain, recognition.pins, address.text(), SystemClock().wall_now());
}

}  // namespace holdfast::cli
