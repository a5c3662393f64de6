#include "probe/h2_service.h"

#include <array>

namespace holdfast::probe {
namespace {

constexpr size_t kH2ReadBytes = 4 * 1024;

}  // namespace

asio::awaitable<Status> talk_h2(Connection& connection, H2Exchange& exchange,
                                std::function<bool()> so) {
  std::array<char, kH2ReadBytes> some;
  while (!so()) {
    const std::string output = exchange.output();
    CO_TRY_OK(co_await connection.write(output));
    CO_TRY(const size_t count, co_await connection.read(some));
    if (count == 0) co_return absl::UnavailableError("the connection was closed");
    CO_TRY_OK(exchange.put({some.data(), count}));
  }
  co_return absl::OkStatus();
}

}  // namespace holdfast::probe
