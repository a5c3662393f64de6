#include "cli/client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace holdfast::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::chrono::system_clock::time_point after(Duration timeout) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<milliseconds>(timeout);
}

rpc::ChannelOptions channel_options(const ClientOptions& options) {
  return {.tls = options.tls,
          // A watch may be quiet for long; servers allow an idle client a ping each five minutes.
          .keepalive_interval = minutes(6),
          .keepalive_timeout = seconds(20),
          // A call's own deadline comes first, so that silence is told from absence.
          .connect_timeout = options.timeout + seconds(5),
          .longest_reconnect_wait = milliseconds(500)};
}

// Cancels a call that has not begun in time.
class BeginDeadline {
 public:
  BeginDeadline(grpc::ClientContext& context, Duration timeout)
      : watchdog_([this, &context, timeout] {
          std::unique_lock lock(mutex_);
          if (changed_.wait_for(lock, timeout, [this] { return begun_; })) return;
          late_ = true;
          context.TryCancel();
        }) {}
  ~BeginDeadline() {
    begin();
    watchdog_.join();
  }
  BeginDeadline(const BeginDeadline&) = delete;
  BeginDeadline& operator=(const BeginDeadline&) = delete;

  void begin() {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    changed_.notify_all();
  }
  bool late() {
    const std::lock_guard lock(mutex_);
    return late_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
  bool late_ = false;
  std::thread watchdog_;
};

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      channel_(rpc::make_channel(options_.server, channel_options(options_))),
      resources_(v1::Resources::NewStub(channel_)),
      events_(v1::Events::NewStub(channel_)),
      identity_(v1::Identity::NewStub(channel_)),
      status_(v1::Status::NewStub(channel_)) {}

Status Client::connect() {
  if (options_.wait <= Duration::zero()) return absl::OkStatus();
  if (channel_->WaitForConnected(after(options_.wait))) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("waited {} for it", to_short_string(options_.wait)));
}

Asked Client::asked() const {
  return {.server = options_.server, .answered = channel_->GetState(false) == GRPC_CHANNEL_READY};
}

void Client::set_deadline(grpc::ClientContext& context) const {
  context.set_deadline(after(options_.timeout));
}

Result<v1::Resource> Client::get(const v1::GetRequest& request) {
  return call(*resources_, &v1::Resources::Stub::Get, request);
}

Result<v1::ListResponse> Client::list(const v1::ListRequest& request) {
  return call(*resources_, &v1::Resources::Stub::List, request);
}

Result<v1::Resource> Client::create(const v1::WriteRequest& request) {
  return call(*resources_, &v1::Resources::Stub::Create, request);
}

Result<v1::Resource> Client::update(const v1::WriteRequest& request) {
  return call(*resources_, &v1::Resources::Stub::Update, request);
}

Result<v1::DeleteResponse> Client::remove(const v1::DeleteRequest& request) {
  return call(*resources_, &v1::Resources::Stub::Delete, request);
}

Result<v1::GetStatusResponse> Client::status() {
  return call(*status_, &v1::Status::Stub::GetStatus, v1::GetStatusRequest());
}

Status Client::watch(const v1::WatchRequest& request,
                     const std::function<bool(const v1::Event&)>& on_event) {
  grpc::ClientContext context;
  BeginDeadline deadline(context, options_.timeout);
  const std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> stream =
      events_->Watch(&context, request);
  v1::WatchResponse response;
  while (stream->Read(&response)) {
    deadline.begin();
    for (const v1::Event& event : response.events()) {
      if (on_event(event)) continue;
      context.TryCancel();
      stream->Finish();
      return absl::OkStatus();
    }
  }
  const Status status = rpc::from_grpc(stream->Finish());
  if (deadline.late()) return absl::DeadlineExceededError("the watch did not begin");
  return status;
}

}  // namespace holdfast::cli
