#include "cli/byte_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <vector>

#include "base/reason.h"
#include "net/as_value.h"
#include "net/within.h"

namespace holdfast::cli {
namespace {

constexpr size_t kCopyBytes = 64 << 10;
using net::kAsValue;

// A descriptor that is not ours: its flags are its other users', too.
class Borrowed {
 public:
  Borrowed(const asio::any_io_executor& loop, int descriptor)
      : flags_(::fcntl(descriptor, F_GETFL)), descriptor_(loop, descriptor) {}
  ~Borrowed() {
    if (!descriptor_.is_open()) return;
    const int descriptor = descriptor_.release();
    if (flags_ >= 0) ::fcntl(descriptor, F_SETFL, flags_);
  }
  asio::posix::stream_descriptor& operator*() { return descriptor_; }
  asio::posix::stream_descriptor* operator->() { return &descriptor_; }

 private:
  int flags_;
  asio::posix::stream_descriptor descriptor_;
};

class StandardStreams final : public net::HttpStream {
 public:
  explicit StandardStreams(const asio::any_io_executor& loop)
      : in_(loop, STDIN_FILENO), out_(loop, STDOUT_FILENO) {}

  asio::awaitable<Status> handshake() override { co_return absl::OkStatus(); }
  asio::awaitable<Result<size_t>> read_some(std::span<char> into) override {
    const auto [error, count] =
        co_await in_->async_read_some(asio::buffer(into.data(), into.size()), kAsValue);
    if (error == asio::error::eof) co_return 0;
    if (error) co_return absl::UnavailableError(error.message());
    co_return count;
  }
  asio::awaitable<Status> write(std::string_view bytes) override {
    const auto [error, count] = co_await asio::async_write(*out_, asio::buffer(bytes), kAsValue);
    if (error) co_return absl::UnavailableError(error.message());
    co_return absl::OkStatus();
  }
  asio::awaitable<void> finish() override { co_return; }
  void close() override {
    boost::system::error_code ignored;  // nothing waits then
    in_->cancel(ignored);
    out_->cancel(ignored);
  }
  bool is_quiet() override { return false; }
  std::string chain_pem() const override { return ""; }

 private:
  Borrowed in_;
  Borrowed out_;
};

// One direction; the other's wait fails with it.
asio::awaitable<Status> copy(net::HttpStream& from, net::HttpStream& to) {
  std::vector<char> buffer(kCopyBytes);
  for (;;) {
    const Result<size_t> count = co_await from.read_some(buffer);
    Status status = count.status();
    if (count.ok() && *count == 0) break;
    if (count.ok()) status = co_await to.write({buffer.data(), *count});
    if (status.ok()) continue;
    from.close();
    to.close();
    co_return coded(absl::StatusCode::kUnavailable, "HF2312",
                    fmt::format("the connection broke: {}", std::string(status.message())));
  }
  co_await to.finish();
  co_return absl::OkStatus();
}

// Ends only if it fails, or is cancelled.
asio::awaitable<Status> copy_and_wait(net::HttpStream& from, net::HttpStream& to) {
  CO_TRY_OK(co_await copy(from, to));
  bool waited = true;
  while (waited) waited = co_await net::pause(std::chrono::hours(1));
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<Status> join_streams(net::HttpStream& local, net::HttpStream& service,
                                     Until until) {
  using namespace asio::experimental::awaitable_operators;
  Status outcome;
  if (until == Until::BothEnd) {
    const auto [up, down] = co_await (net::ending_by_value(copy(local, service)) &&
                                      net::ending_by_value(copy(service, local)));
    outcome = up.ok() ? down : up;
  } else {
    const auto first = co_await (net::ending_by_value(copy_and_wait(local, service)) ||
                                 net::ending_by_value(copy(service, local)));
    outcome = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
  }
  local.close();
  service.close();
  co_return outcome;
}

std::unique_ptr<net::HttpStream> standard_streams(const asio::any_io_executor& loop) {
  return std::make_unique<StandardStreams>(loop);
}

}  // namespace holdfast::cli
