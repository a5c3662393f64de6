#include "net/tls_stream.h"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "net/task_group.h"
#include "support/test_certificate.h"

namespace holdfast::net {
namespace {

constexpr int kSteps = 10'000;

// A server's stream, and a client that reads only when it is told to.
class TlsStreamTest : public testing::Test {
 protected:
  TlsStreamTest() {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
    socket_ = sockets[0];
    client_socket_ = sockets[1];
    const test::TestCertificate own = test::make_test_certificate("server");
    const auto context = TlsContext::make(own.certificate_pem, own.private_key_pem);
    const asio::generic::stream_protocol protocol(AF_UNIX, 0);
    stream_ = make_tls_stream(StreamSocket(loop_, protocol, socket_), *context);
    client_.reset(SSL_new(client_context_.get()));
    SSL_set_fd(client_.get(), client_socket_);
    tasks_.spawn(shake());
    EXPECT_TRUE(run_until([&] { return SSL_connect(client_.get()) == 1 && is_shaken_; }));
  }
  ~TlsStreamTest() override {
    stream_->close();
    EXPECT_TRUE(run_until([&] { return tasks_.size() == 0; }));
    client_.reset();
    ::close(client_socket_);
  }

  bool run_until(const std::function<bool()>& condition) {
    for (int i = 0; i < kSteps; ++i) {
      if (condition()) return true;
      loop_.restart();
      loop_.poll();
    }
    return condition();
  }
  asio::awaitable<void> shake() {
    const Status shaken = co_await stream_->handshake();
    is_shaken_ = shaken.ok();
  }
  asio::awaitable<void> write_until_full_and_finish() {
    while (!is_full()) {
      const Status written = co_await stream_->write("x");
      EXPECT_TRUE(written.ok()) << written;
      written_ += 1;
    }
    is_written_ = true;
    co_await stream_->finish();
    is_finished_ = true;
  }
  // Whether the kernel takes nothing more of it.
  bool is_full() const {
    int waiting = 0, most = 0;
    socklen_t size = sizeof most;
    EXPECT_EQ(::ioctl(socket_, SIOCOUTQ, &waiting), 0);
    EXPECT_EQ(::getsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &most, &size), 0);
    return waiting >= most;
  }

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  asio::io_context loop_{1};
  TaskGroup tasks_{loop_.get_executor()};
  std::unique_ptr<SSL_CTX, Free> client_context_{SSL_CTX_new(TLS_client_method())};
  std::unique_ptr<SSL, Free> client_;
  std::unique_ptr<HttpStream> stream_;
  int socket_ = -1, client_socket_ = -1;
  size_t written_ = 0;
  bool is_shaken_ = false, is_written_ = false, is_finished_ = false;
};

TEST_F(TlsStreamTest, TheFarewellWaitsUntilAFullSocketTakesIt) {
  tasks_.spawn(write_until_full_and_finish());
  EXPECT_TRUE(run_until([&] { return is_written_; }));
  EXPECT_FALSE(is_finished_);

  size_t got = 0;
  int ended = SSL_ERROR_NONE;
  EXPECT_TRUE(run_until([&] {
    char byte = 0;
    const int count = SSL_read(client_.get(), &byte, 1);
    if (count == 1) got += 1;
    if (count <= 0) ended = SSL_get_error(client_.get(), count);
    return count <= 0 && ended != SSL_ERROR_WANT_READ;
  }));

  EXPECT_EQ(ended, SSL_ERROR_ZERO_RETURN);
  EXPECT_EQ(got, written_);
  EXPECT_TRUE(is_finished_);
}

TEST_F(TlsStreamTest, AFarewellThatNobodyTakesEndsWithTheConnection) {
  tasks_.spawn(write_until_full_and_finish());
  EXPECT_TRUE(run_until([&] { return is_written_; }));

  stream_->close();

  EXPECT_TRUE(run_until([&] { return is_finished_; }));
}

// As threads of gRPC do that shake hands while main() returns.
TEST(TlsDeathTest, AThreadThatStillUsesItDoesNotCrashTheExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave_while_another_works = [] {
    ::alarm(30);  // a crash under a sanitizer may end as a deadlock
    keep_tls_until_exit();
    std::atomic<bool> began = false;
    const std::jthread busy([&] {
      for (;;) {
        test::make_test_certificate("busy");
        began = true;
      }
    });
    while (!began) std::this_thread::yield();
    std::exit(0);
  };

  EXPECT_EXIT(leave_while_another_works(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace holdfast::net
