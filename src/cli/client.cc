#include "cli/client.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "net/task_group.h"
#include "net/within.h"
#include "rpc/epoch.h"

namespace holdfast::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A dial that is refused is tried again: behind a balancer the next may reach another controller.
constexpr uint64_t kTriesPerAddress = 3;
constexpr Duration kPoll = milliseconds(10);
constexpr Duration kPatience = seconds(30);
// A half that does not serve may do so soon.
constexpr Duration kAskAgain = milliseconds(250);

using ResourceCalls = v1::Resources::StubInterface::async_interface;
using StatusCalls = v1::Status::StubInterface::async_interface;
using EventCalls = v1::Events::StubInterface::async_interface;

template <size_t kSize>
std::array<unsigned char, kSize> random_bytes() {
  std::array<unsigned char, kSize> bytes;
  HF_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "OpenSSL is random");
  return bytes;
}

std::string random_id() {
  std::string out;
  for (const unsigned char byte : random_bytes<16>()) out += fmt::format("{:02x}", byte);
  return out;
}

uint64_t random_seed() {
  uint64_t seed = 0;
  const auto bytes = random_bytes<sizeof seed>();
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return seed;
}

template <typename Request>
Request with_id(Request request) {
  if (request.request_id().empty()) request.set_request_id(random_id());
  return request;
}

std::vector<std::string> addresses_of(const std::string& server) {
  return absl::StrSplit(server, ',');
}

rpc::ChannelOptions channel_options(const ClientOptions& options) {
  return {
      .tls = options.tls,
      // A watch may be quiet for long, and its peer gone; servers allow a ping each five seconds.
      .keepalive_interval = seconds(10),
      .keepalive_timeout = seconds(5),
      // A controller that hangs behind a balancer leaves time for the next.
      .connect_timeout = seconds(2),
      .longest_reconnect_wait = milliseconds(500)};
}

// Somebody may be there who does not answer, as opposed to nobody.
bool is_silence(std::string_view failure) {
  return failure.empty() || failure.contains("no answer within") || failure.contains("imeout") ||
         failure.contains("imed out") || failure.contains("Deadline Exceeded");
}

// Nothing: the stream has ended, or its next message did not come in time.
asio::awaitable<std::optional<v1::WatchResponse>> read_within(
    Duration limit, rpc::ServerStream<v1::WatchResponse>& stream) {
  using namespace asio::experimental::awaitable_operators;
  auto first =
      co_await (net::ending_by_value(stream.read()) || net::ending_by_value(net::pause(limit)));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return std::nullopt;
}

// Whoever has no certificate, to join or to log in, is refused any other question.
bool is_known(const ClientOptions& options) {
  return !options.tls || !options.tls->certificate_pem.empty();
}

// Whatever its address, it has to be a controller of the cluster by its certificate.
bool may_follow(const ClientOptions& options) {
  return options.follow && options.tls && !options.tls->server_name.empty();
}

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      addresses_(addresses_of(options_.server).size()),
      link_(loop_.get_executor(), clock_, addresses_of(options_.server), channel_options(options_),
            {.core = {.ask_server = is_known(options_), .follow_strangers = may_follow(options_)},
             .seed = random_seed()}) {
  link_.start();
}

Client::~Client() {
  bool stopped = false;
  asio::co_spawn(loop_, link_.stop(), [&](const std::exception_ptr& /*none*/) { stopped = true; });
  run_until([&] { return stopped; });
}

void Client::run_until(const std::function<bool()>& done) {
  while (!done()) {
    if (loop_.stopped()) loop_.restart();
    loop_.run_one();
  }
}

Status Client::connect() {
  if (options_.wait <= Duration::zero()) return absl::OkStatus();
  const Result<rpc::Pinned> picked = run(link_.wait_picked(options_.wait));
  if (picked.ok()) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("waited {} for it", to_short_string(options_.wait)));
}

Asked Client::asked() const {
  return {.server = options_.server, .answered = link_.picked() != nullptr};
}

ClientOptions Client::options_for(std::string address) const {
  ClientOptions options = options_;
  options.server = std::move(address);
  options.wait = Duration::zero();
  options.follow = false;
  return options;
}

Duration Client::patience() const {
  return options_.wait > Duration::zero() ? options_.wait : kPatience;
}

asio::awaitable<bool> Client::nobody_listens() const {
  const uint64_t enough = link_.stats().failed_dials + kTriesPerAddress * addresses_;
  bool waited = true;
  while (waited && (link_.stats().failed_dials < enough || is_silence(link_.last_failure()))) {
    waited = co_await net::pause(kPoll);
  }
  co_return waited;
}

asio::awaitable<Result<Client::Reached>> Client::reach() {
  using namespace asio::experimental::awaitable_operators;
  const Time start = clock_.now();
  if (link_.picked() == nullptr) {
    co_await (net::ending_by_value(link_.wait_picked(options_.timeout)) ||
              net::ending_by_value(nobody_listens()));
  }
  if (rpc::Pinned picked = link_.picked()) {
    const Duration left = start + options_.timeout - clock_.now();
    co_return Reached{std::move(picked), std::max<Duration>(left, milliseconds(1))};
  }
  if (is_silence(link_.last_failure())) co_return absl::DeadlineExceededError("no connection");
  co_return absl::UnavailableError(link_.last_failure());
}

Result<v1::Resource> Client::get(const v1::GetRequest& request) {
  return call<v1::Resources>(&ResourceCalls::Get, request, rpc::Repeat::Safe);
}

Result<v1::ListResponse> Client::list(const v1::ListRequest& request) {
  return call<v1::Resources>(&ResourceCalls::List, request, rpc::Repeat::Safe);
}

Result<v1::Resource> Client::create(v1::WriteRequest request) {
  return call<v1::Resources>(&ResourceCalls::Create, with_id(std::move(request)),
                             rpc::Repeat::Safe);
}

Result<v1::Resource> Client::update(v1::WriteRequest request) {
  return call<v1::Resources>(&ResourceCalls::Update, with_id(std::move(request)),
                             rpc::Repeat::Safe);
}

Result<v1::DeleteResponse> Client::remove(v1::DeleteRequest request) {
  return call<v1::Resources>(&ResourceCalls::Delete, with_id(std::move(request)),
                             rpc::Repeat::Safe);
}

Result<v1::GetStatusResponse> Client::status() {
  return call<v1::Status>(&StatusCalls::GetStatus, v1::GetStatusRequest(), rpc::Repeat::Safe);
}

Result<v1::GetLoadResponse> Client::load(const v1::GetLoadRequest& request) {
  using LoadCalls = v1::Load::StubInterface::async_interface;
  return call<v1::Load>(&LoadCalls::GetLoad, request, rpc::Repeat::Safe);
}

asio::awaitable<std::optional<v1::WatchResponse>> Client::read_there(uint64_t connection,
                                                                     WatchStream& stream) {
  using namespace asio::experimental::awaitable_operators;
  auto first = co_await (net::ending_by_value(stream.read()) ||
                         net::ending_by_value(link_.moved(connection)));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return std::nullopt;
}

Status Client::watch_at(const Reached& reached, const v1::WatchRequest& request,
                        const std::function<bool(const v1::Event&)>& on_event, bool& begun) {
  const auto stub = v1::Events::NewStub(reached.connection->channel);
  WatchStream stream(loop_.get_executor());
  stream.start(*stub->async(), &EventCalls::Watch, request,
               link_.stream_options(reached.connection));
  const Time late_at = clock_.now() + reached.left;
  std::optional<v1::WatchResponse> response = run(read_within(reached.left, stream));
  if (!response && clock_.now() >= late_at) {
    return absl::DeadlineExceededError("the watch did not begin");
  }
  while (response) {
    begun = true;
    for (const v1::Event& event : response->events()) {
      if (!on_event(event)) return absl::OkStatus();
    }
    response = run(read_there(reached.connection->id, stream));
  }
  const Status ended = run(stream.finish());
  if (!absl::IsCancelled(ended)) return ended;
  return absl::UnavailableError("another controller serves now");
}

asio::awaitable<bool> Client::leave(uint64_t connection) {
  using namespace asio::experimental::awaitable_operators;
  co_await (net::ending_by_value(link_.moved(connection)) ||
            net::ending_by_value(net::pause(kAskAgain)));
  co_return true;
}

Status Client::watch(const v1::WatchRequest& request,
                     const std::function<bool(const v1::Event&)>& on_event) {
  const Time give_up_at = clock_.now() + options_.timeout;
  for (bool begun = false;;) {
    TRY(const Reached reached, run(reach()));
    const Status ended = watch_at(reached, request, on_event, begun);
    if (begun || !rpc::is_not_active(ended) || clock_.now() >= give_up_at) return ended;
    run(leave(reached.connection->id));
  }
}

void Client::pause(Duration time) {
  run(net::pause(time));
}

}  // namespace holdfast::cli
