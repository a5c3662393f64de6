#include "tunnel/tls_pipe_service.h"

#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/reason.h"

namespace holdfast::tunnel {
namespace {

constexpr size_t kFarAhead = 128 << 10;  // one call of the kernel for that many bytes
constexpr size_t kFlowing = 16 << 10;    // a read of more than this: there is much to come
constexpr size_t kSmall = 4 << 10;       // and this many reads of less: there is not
constexpr unsigned kSmallReads = 64;
constexpr size_t kRecord = SSL3_RT_MAX_PLAIN_LENGTH;

Status broke() {
  const char* text = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return coded(absl::StatusCode::kUnavailable, "HF2023",
               text == nullptr ? "the tunnel's connection broke" : text);
}

}  // namespace

TlsPipe::TlsPipe(SecureConnection& connection, size_t unsent_bytes) : connection_(connection) {
  const int socket = connection_.socket.native_handle();
  const int yes = 1;
  const int unsent = static_cast<int>(unsent_bytes);
  // They cannot fail on TCP; tests use other sockets.
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

Result<TlsPipe::Got> TlsPipe::read(std::span<char> into) {
  SSL* ssl = connection_.ssl.get();
  Got got;
  ERR_clear_error();
  while (got.bytes < into.size()) {
    size_t count = 0;
    const int result = SSL_read_ex(ssl, into.data() + got.bytes, into.size() - got.bytes, &count);
    got.bytes += count;
    if (result != 1) {
      const int error = SSL_get_error(ssl, result);
      got.closed = error == SSL_ERROR_ZERO_RETURN;
      if (!got.closed && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        // What came before it counts; the failure comes again.
        if (got.bytes == 0) return broke();
        got.more = true;
        ERR_clear_error();
      }
      adapt(got.bytes);
      return got;
    }
    // A small message that came alone: asking for more would only say that there is none.
    if (got.bytes < kSmall && SSL_has_pending(ssl) == 0) {
      adapt(got.bytes);
      return got;
    }
  }
  got.more = true;
  adapt(got.bytes);
  return got;
}

void TlsPipe::adapt(size_t bytes) {
  if (bytes > kFlowing) {
    small_reads_ = 0;
    if (reads_ahead_) return;
    reads_ahead_ = true;
    SSL_set_default_read_buffer_len(connection_.ssl.get(), kFarAhead);
    return;
  }
  if (bytes > kSmall || !reads_ahead_) return;
  small_reads_ += 1;
  if (small_reads_ >= kSmallReads) rest();
}

void TlsPipe::rest() {
  SSL_set_default_read_buffer_len(connection_.ssl.get(), 0);
  reads_ahead_ = false;
  small_reads_ = 0;
  (void)SSL_free_buffers(connection_.ssl.get());  // not those in use
  release_kept();
}

void TlsPipe::release_kept() {
  if (kept_.empty()) kept_.shrink_to_fit();
}

Status TlsPipe::write(std::span<const char> bytes) {
  HF_CHECK(kept_.empty(), "what is kept goes first");
  TRY(last_written_, write_some(bytes));
  const std::span<const char> rest = bytes.subspan(last_written_);
  kept_.assign(rest.begin(), rest.end());
  kept_from_ = 0;
  return absl::OkStatus();
}

Result<size_t> TlsPipe::write_kept() {
  TRY(const size_t written, write_some(std::span<const char>(kept_).subspan(kept_from_)));
  kept_from_ += written;
  if (kept_from_ == kept_.size()) kept_.clear();
  return written;
}

Result<size_t> TlsPipe::write_some(std::span<const char> bytes) {
  SSL* ssl = connection_.ssl.get();
  size_t written = 0;
  ERR_clear_error();
  while (written < bytes.size()) {
    size_t count = 0;
    net::say_more_follows(*ssl, bytes.size() - written > kRecord);
    const int result = SSL_write_ex(ssl, bytes.data() + written, bytes.size() - written, &count);
    written += count;
    if (result == 1) continue;
    if (SSL_get_error(ssl, result) != SSL_ERROR_WANT_WRITE) return broke();
    break;
  }
  return written;
}

void TlsPipe::finish() {
  ERR_clear_error();
  (void)SSL_shutdown(connection_.ssl.get());
  ERR_clear_error();
  (void)::shutdown(connection_.socket.native_handle(), SHUT_WR);
}

}  // namespace holdfast::tunnel
