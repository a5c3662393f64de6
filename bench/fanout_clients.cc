#include "fanout_clients.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "delays.h"
#include "etcd/etcd.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "servers.h"
#include "support/eventually.h"

namespace holdfast::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(120);
constexpr int kStampBytes = 20;
const std::string kPadding(180, 'p');

// Twenty digits, then padding: the same bytes for both servers.
std::string stamped() {
  std::string text = std::to_string(now_nanoseconds());
  return std::string(kStampBytes - text.size(), '0') + text + kPadding;
}

// Where the stamp stands in a message: field numbers from the outside in. The client decodes no
// more than that, so that what is measured is the servers.
using Path = std::span<const uint64_t>;
constexpr std::array<uint64_t, 4> kHoldfastPath = {1, 2, 2,
                                                   5};     // events.resource.metadata.description
constexpr std::array<uint64_t, 3> kEtcdPath = {11, 2, 5};  // events.kv.value

uint64_t read_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// Calls `found` with every field at `path`. Only the wire types these messages have.
template <typename Found>
void each_field(std::string_view bytes, Path path, const Found& found) {
  while (!bytes.empty()) {
    const uint64_t tag = read_varint(bytes);
    const uint64_t number = read_varint(bytes);
    if ((tag & 7) == 0) continue;
    const std::string_view field = bytes.substr(0, number);
    bytes.remove_prefix(field.size());
    if (tag >> 3 != path.front()) continue;
    if (path.size() == 1) found(field);
    if (path.size() > 1) each_field(field, path.subspan(1), found);
  }
}

// How to watch one server.
struct Target {
  std::string watch_method;
  std::string watch_request;
  bool half_closes = false;  // the request is all the client says
  Path path;
};

struct Progress {
  std::atomic<int> ready = 0;  // watchers whose stream is set up
  std::atomic<int> done = 0;   // reactors gRPC has let go of
  DelayHistogram delays;
};

// One stream, read as bytes. The first message says that it is set up.
class Watcher final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Watcher(grpc::GenericStub& stub, const Target& target, Progress& progress)
      : path_(target.path), progress_(progress) {
    const grpc::Slice slice(target.watch_request);
    request_ = grpc::ByteBuffer(&slice, 1);
    stub.PrepareBidiStreamingCall(&context_, target.watch_method, {}, this);
    if (target.half_closes) StartWriteLast(&request_, {});
    if (!target.half_closes) StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const int64_t now = now_nanoseconds();
    grpc::Slice slice;
    HF_CHECK(response_.DumpToSingleSlice(&slice).ok(), "a message has bytes");
    const std::string_view bytes(reinterpret_cast<const char*>(slice.begin()), slice.size());
    if (!ready_) progress_.ready += 1;
    ready_ = true;
    each_field(bytes, path_, [&](std::string_view text) {
      int64_t sent = 0;
      std::from_chars(text.data(), text.data() + kStampBytes, sent);
      progress_.delays.record(now - sent);
    });
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& /*status*/) override { progress_.done += 1; }
  void cancel() { context_.TryCancel(); }

 private:
  Path path_;
  Progress& progress_;
  bool ready_ = false;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
};

template <typename Put>
FanOutResult measure(const Server& server, const FanOutLoad& load, const Target& target,
                     const Put& put) {
  Progress progress;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  for (int i = 0; i < load.connections; ++i) {
    stubs.push_back(std::make_unique<grpc::GenericStub>(server.connect()));
  }
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < load.watchers; ++i) {
    watchers.push_back(std::make_unique<Watcher>(*stubs[i % stubs.size()], target, progress));
  }
  HF_CHECK(test::eventually([&] { return progress.ready == load.watchers; }, kPatience),
           "every watcher is set up");

  const int64_t start = now_nanoseconds();
  const auto writers_channel = server.connect();
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < load.writers; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = writer; i < load.events; i += load.writers) put(writers_channel, i);
    });
  }
  writers.clear();
  const uint64_t expected = static_cast<uint64_t>(load.events) * load.watchers;
  HF_CHECK(test::eventually([&] { return progress.delays.count() == expected; }, kPatience),
           "every watcher sees every event");
  const double seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;

  for (const auto& watcher : watchers) watcher->cancel();
  HF_CHECK(test::eventually([&] { return progress.done == load.watchers; }, kPatience),
           "every stream ends");
  return {.events_per_second = static_cast<double>(expected) / seconds,
          .p50_ms = progress.delays.percentile_ms(0.5),
          .p99_ms = progress.delays.percentile_ms(0.99)};
}

}  // namespace

FanOutResult measure_holdfast(const FanOutLoad& load) {
  const auto server = Server::holdfast();
  const auto put = [](const std::shared_ptr<grpc::Channel>& channel, int i) {
    grpc::ClientContext context;
    v1::WriteRequest request;
    request.mutable_resource()->mutable_metadata()->set_name("a" + std::to_string(i % 100));
    request.mutable_resource()->mutable_metadata()->set_description(stamped());
    request.mutable_resource()->mutable_agent();
    v1::Resource response;
    const grpc::Status status =
        v1::Resources::NewStub(channel)->Upsert(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
  };
  v1::WatchRequest watch;
  watch.add_kinds()->set_kind("agent");
  const Target target{.watch_method = "/holdfast.v1.Events/Watch",
                      .watch_request = watch.SerializeAsString(),
                      .half_closes = true,
                      .path = kHoldfastPath};
  return measure(*server, load, target, put);
}

FanOutResult measure_etcd(const FanOutLoad& load) {
  const auto server = Server::etcd();
  const auto put = [](const std::shared_ptr<grpc::Channel>& channel, int i) {
    grpc::ClientContext context;
    etcdserverpb::PutRequest request;
    request.set_key("/agent/a" + std::to_string(i % 100));
    request.set_value(stamped());
    etcdserverpb::PutResponse response;
    const grpc::Status status =
        etcdserverpb::KV::NewStub(channel)->Put(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
  };
  etcdserverpb::WatchRequest watch;
  watch.mutable_create_request()->set_key("/agent/");
  watch.mutable_create_request()->set_range_end("/agent0");
  const Target target{.watch_method = "/etcdserverpb.Watch/Watch",
                      .watch_request = watch.SerializeAsString(),
                      .half_closes = false,
                      .path = kEtcdPath};
  return measure(*server, load, target, put);
}

}  // namespace holdfast::bench
