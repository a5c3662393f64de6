#include "e2e/api_client.h"

#include <condition_variable>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr size_t kWritesAtOnce = 256;
constexpr Duration kPatience = 15s;
constexpr size_t kLargestMessageBytes = size_t{512} << 20;  // whether it may is for the server

void set_deadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + 15s);
}

// One of many writes, alive until it is answered.
struct Write {
  grpc::ClientContext context;
  v1::WriteRequest request;
  v1::Resource response;
};

v1::ListRequest to_proto(const ListOptions& options) {
  v1::ListRequest request;
  request.set_kind(options.kind);
  request.mutable_labels()->insert(options.labels.begin(), options.labels.end());
  request.set_page_size(options.page_size);
  request.set_page_token(options.page_token);
  return request;
}

SeenEvent to_seen(const v1::Event& event) {
  SeenEvent seen{.type = event.type(),
                 .kind = event.resource().kind(),
                 .name = event.resource().metadata().name(),
                 .revision = event.revision(),
                 .confirmed = {}};
  for (const v1::WatchKind& kind : event.status().kinds()) seen.confirmed.push_back(kind.kind());
  return seen;
}

}  // namespace

ApiClient::ApiClient(const std::string& server, std::optional<rpc::TlsOptions> tls)
    : ApiClient(rpc::make_channel(
          server, {.tls = std::move(tls), .max_message_bytes = kLargestMessageBytes})) {}

// tidy: shared, gRPC's own handle
ApiClient::ApiClient(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)),
      resources_(v1::Resources::NewStub(channel_)),
      events_(v1::Events::NewStub(channel_)) {}

Answer ApiClient::get(const std::string& kind, const std::string& name) {
  v1::GetRequest request;
  request.set_kind(kind);
  request.set_name(name);
  grpc::ClientContext context;
  set_deadline(context);
  v1::Resource response;
  const grpc::Status status = resources_->Get(&context, request, &response);
  return {status, response.metadata().revision()};
}

Answer ApiClient::upsert(const v1::Resource& resource) {
  v1::WriteRequest request;
  *request.mutable_resource() = resource;
  grpc::ClientContext context;
  set_deadline(context);
  v1::Resource response;
  const grpc::Status status = resources_->Upsert(&context, request, &response);
  return {status, response.metadata().revision()};
}

Answer ApiClient::remove(const std::string& kind, const std::string& name) {
  v1::DeleteRequest request;
  request.set_kind(kind);
  request.set_name(name);
  grpc::ClientContext context;
  set_deadline(context);
  v1::DeleteResponse response;
  const grpc::Status status = resources_->Delete(&context, request, &response);
  return {status, response.revision()};
}

v1::ListResponse ApiClient::list_page(const ListOptions& options) {
  grpc::ClientContext context;
  set_deadline(context);
  v1::ListResponse response;
  const grpc::Status status = resources_->List(&context, to_proto(options), &response);
  HF_CHECK(status.ok(), status.error_message());
  return response;
}

grpc::Status ApiClient::list_status(const ListOptions& options) {
  grpc::ClientContext context;
  set_deadline(context);
  v1::ListResponse response;
  return resources_->List(&context, to_proto(options), &response);
}

size_t ApiClient::upsert_many(size_t count, const std::function<v1::Resource(size_t)>& make) {
  std::mutex mutex;
  std::condition_variable changed;
  size_t running = 0;
  size_t refused = 0;
  for (size_t i = 0; i < count; ++i) {
    auto* write = new Write();
    *write->request.mutable_resource() = make(i);
    set_deadline(write->context);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running < kWritesAtOnce; });
    running += 1;
    lock.unlock();
    resources_->async()->Upsert(&write->context, &write->request, &write->response,
                                [&, write](const grpc::Status& status) {
                                  delete write;
                                  const std::lock_guard guard(mutex);
                                  running -= 1;
                                  if (!status.ok()) refused += 1;
                                  changed.notify_one();
                                });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return running == 0; });
  return refused;
}

WatchReader::WatchReader(ApiClient& client, const v1::WatchRequest& request)
    : stream_(client.events().Watch(&context_, request)), thread_([this] { read(); }) {}

WatchReader::~WatchReader() {
  end();
}

void WatchReader::read() {
  v1::WatchResponse response;
  while (stream_->Read(&response)) {
    const std::lock_guard guard(mutex_);
    for (const v1::Event& event : response.events()) seen_.push_back(to_seen(event));
  }
  const grpc::Status status = stream_->Finish();
  const std::lock_guard guard(mutex_);
  status_ = status;
  ended_ = true;
}

bool WatchReader::wait_for(size_t count) {
  const auto done = [&] {
    const std::lock_guard guard(mutex_);
    return seen_.size() >= count || ended_;
  };
  return eventually(done, kPatience) && this->count() >= count;
}

std::vector<SeenEvent> WatchReader::events() const {
  const std::lock_guard guard(mutex_);
  return seen_;
}

std::vector<SeenEvent> WatchReader::changes() const {
  std::vector<SeenEvent> all = events();
  std::erase_if(all, [](const SeenEvent& event) { return event.type == v1::EVENT_TYPE_INIT; });
  return all;
}

size_t WatchReader::count() const {
  const std::lock_guard guard(mutex_);
  return seen_.size();
}

grpc::Status WatchReader::end() {
  context_.TryCancel();
  if (thread_.joinable()) thread_.join();
  return status_;
}

grpc::Status WatchReader::wait_until_it_ends() {
  const auto ended = [&] {
    const std::lock_guard guard(mutex_);
    return ended_;
  };
  if (!eventually(ended, kPatience)) return {grpc::StatusCode::DEADLINE_EXCEEDED, "still open"};
  return end();
}

v1::Resource service(const std::string& name, std::map<std::string, std::string> labels) {
  v1::Resource resource;
  resource.set_kind("service");
  resource.mutable_metadata()->set_name(name);
  resource.mutable_metadata()->mutable_labels()->insert(labels.begin(), labels.end());
  v1::ServicePort& port = *resource.mutable_service()->add_ports();
  port.set_port(80);
  port.set_protocol(v1::PROTOCOL_TCP);
  return resource;
}

v1::WatchRequest watch_request(const std::vector<std::string>& kinds, int64_t after_revision) {
  v1::WatchRequest request;
  for (const std::string& kind : kinds) request.add_kinds()->set_kind(kind);
  request.set_after_revision(after_revision);
  return request;
}

}  // namespace holdfast::test
