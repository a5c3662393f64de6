#include "probe/unverified_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>

#include <array>

#include "base/check.h"

namespace holdfast::probe {
namespace {

constexpr unsigned char kEither[] = "\x02h2\x08http/1.1";
constexpr unsigned char kHttp2[] = "\x02h2";
constexpr std::string_view kHttp = "HTTP/";     // in clear
constexpr long kMaxPresentedBytes = 256 << 10;  // of certificates, from one peer

// OpenSSL's words; they hold nothing of the peer's.
Status failure() {
  const char* text = ERR_reason_error_string(ERR_peek_error());
  const Status why =
      absl::DataLossError(std::string("TLS: ") + (text == nullptr ? "cut off" : text));
  ERR_clear_error();
  return why;
}

bool is_address(const std::string& host) {
  X509_VERIFY_PARAM* const scratch = X509_VERIFY_PARAM_new();
  HF_CHECK(scratch != nullptr, "OpenSSL has memory");
  const bool address = X509_VERIFY_PARAM_set1_ip_asc(scratch, host.c_str()) == 1;
  X509_VERIFY_PARAM_free(scratch);
  ERR_clear_error();
  return address;
}

}  // namespace

UnverifiedTls::UnverifiedTls() : context_(SSL_CTX_new(TLS_client_method())) {
  HF_CHECK(context_ != nullptr, "OpenSSL has memory");
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  // Whoever does not care who it is does not care how strong its key is.
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, kMaxPresentedBytes);
  ERR_clear_error();
}

TlsBytes::TlsBytes(const UnverifiedTls& tls, const std::string& host, Offer offer)
    : ssl_(SSL_new(tls.context())) {
  BIO* const from = BIO_new(BIO_s_mem());
  BIO* const to = BIO_new(BIO_s_mem());
  HF_CHECK(ssl_ != nullptr && from != nullptr && to != nullptr, "OpenSSL has memory");
  SSL_set_bio(ssl_.get(), from, to);
  SSL_set_connect_state(ssl_.get());
  const int refused = offer == Offer::Http2
                          ? SSL_set_alpn_protos(ssl_.get(), kHttp2, sizeof kHttp2 - 1)
                          : SSL_set_alpn_protos(ssl_.get(), kEither, sizeof kEither - 1);
  HF_CHECK(refused == 0, "OpenSSL has memory");
  if (!is_address(host)) SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
  ERR_clear_error();
}

void TlsBytes::put(std::string_view bytes) {
  if (first_.size() < kHttp.size()) first_ += bytes.substr(0, kHttp.size() - first_.size());
  const int taken =
      BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  HF_CHECK(taken == static_cast<int>(bytes.size()), "OpenSSL has memory");
}

std::string TlsBytes::output() {
  BIO* const to = SSL_get_wbio(ssl_.get());
  std::string out(BIO_ctrl_pending(to), '\0');
  if (!out.empty()) BIO_read(to, out.data(), static_cast<int>(out.size()));
  return out;
}

Result<bool> TlsBytes::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return true;
  const bool waits = SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
  if (!waits || ended_) {
    const Status why = failure();
    if (first_ != kHttp) return why;
    return absl::FailedPreconditionError("TLS: the answer is HTTP in clear");
  }
  return false;
}

Status TlsBytes::write(std::string_view bytes) {
  ERR_clear_error();
  size_t count = 0;
  if (bytes.empty()) return absl::OkStatus();
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count) == 1) return absl::OkStatus();
  return failure();
}

Result<TlsBytes::Read> TlsBytes::read(std::span<char> into) {
  ERR_clear_error();
  Read done;
  if (SSL_read_ex(ssl_.get(), into.data(), into.size(), &done.count) == 1) return done;
  const int error = SSL_get_error(ssl_.get(), 0);
  done.end = error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_WANT_READ && ended_);
  if (done.end || error == SSL_ERROR_WANT_READ) return done;
  return failure();
}

std::string_view TlsBytes::protocol() const {
  const unsigned char* text = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &text, &size);
  return {reinterpret_cast<const char*>(text), size};
}

}  // namespace holdfast::probe
