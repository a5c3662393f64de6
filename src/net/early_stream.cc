#include "net/early_stream.h"

#include <algorithm>
#include <cstring>

namespace holdfast::net {
namespace {

class EarlyStream final : public HttpStream {
 public:
  EarlyStream(std::unique_ptr<HttpStream> stream, std::string early)
      : stream_(std::move(stream)), early_(std::move(early)) {}

  asio::awaitable<Status> handshake() override { return stream_->handshake(); }
  asio::awaitable<Result<size_t>> read_some(std::span<char> into) override {
    if (early_.empty()) co_return co_await stream_->read_some(into);
    const size_t bytes = std::min(into.size(), early_.size());
    std::memcpy(into.data(), early_.data(), bytes);
    early_.erase(0, bytes);
    co_return bytes;
  }
  asio::awaitable<Status> write(std::string_view bytes) override { return stream_->write(bytes); }
  asio::awaitable<void> finish() override { return stream_->finish(); }
  void close() override { stream_->close(); }
  bool is_quiet() override { return early_.empty() && stream_->is_quiet(); }
  std::string chain_pem() const override { return stream_->chain_pem(); }

 private:
  std::unique_ptr<HttpStream> stream_;
  std::string early_;
};

}  // namespace

std::unique_ptr<HttpStream> with_early(std::unique_ptr<HttpStream> stream, std::string early) {
  if (early.empty()) return stream;
  return std::make_unique<EarlyStream>(std::move(stream), std::move(early));
}

}  // namespace holdfast::net
