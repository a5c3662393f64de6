#include "controller_fleet.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/rng.h"
#include "support/eventually.h"

namespace holdfast::bench {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr auto kPatience = std::chrono::seconds(60);

int64_t nanoseconds(const google::protobuf::Duration& duration) {
  return duration.seconds() * kSecond + duration.nanos();
}

v1::AnnounceRequest announcement_of(int index) {
  v1::AnnounceRequest request;
  v1::Resource& resource = *request.mutable_resource();
  resource.mutable_metadata()->set_name(agent_name(index));
  (*resource.mutable_metadata()->mutable_labels())["rack"] = std::to_string(index % 100);
  v1::Agent& agent = *resource.mutable_agent();
  agent.set_zone("zone-" + std::to_string(index % 3));
  agent.set_version("1.0.0");
  for (const char* service : {"web", "db"}) {
    agent.add_services()->set_service(service);
  }
  agent.add_proxies("px-1");
  agent.add_proxies("px-2");
  request.add_trusted_pins("sha256:" + std::string(64, 'a'));
  request.set_issuer_pin("sha256:" + std::string(64, 'a'));
  return request;
}

}  // namespace

// One announcement on its way.
struct Fleet::Call {
  int index = 0;
  int64_t sent = 0;
  grpc::ClientContext context;
  v1::AnnounceRequest request;
  v1::AnnounceResponse response;
};

std::string agent_name(int index) {
  return "agent-" + std::to_string(100'000 + index);
}

std::vector<std::shared_ptr<grpc::Channel>> connect_all(const std::string& address, int count) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < count; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

Fleet::Fleet(const std::string& address, const FleetOptions& options)
    : options_(options),
      channels_(connect_all(address, options.connections + 1)),
      agents_(static_cast<size_t>(options.agents)) {
  for (const auto& channel : channels_) stubs_.push_back(v1::Presence::NewStub(channel));
}

Fleet::~Fleet() {
  finish();
}

void Fleet::start() {
  Rng rng(1);
  const int64_t now = now_nanoseconds();
  const auto spread = static_cast<uint64_t>(options_.ttl_seconds * kSecond / 2);
  for (Agent& agent : agents_) agent.due = now + static_cast<int64_t>(rng.below(spread));
  watcher_ = std::jthread([this] { watch(); });
  runner_ = std::jthread([this] { run(); });
}

void Fleet::begin_stopping() {
  const std::lock_guard lock(mutex_);
  Rng rng(2);
  const int64_t now = now_nanoseconds();
  const int64_t room = std::max(1, options_.seconds - options_.ttl_seconds - 5) * kSecond;
  for (int i = 0; i < options_.stopping; ++i) {
    Agent& agent = agents_[rng.below(uint64_t{agents_.size()})];
    if (agent.stop_at != INT64_MAX) i -= 1;
    agent.stop_at = now + static_cast<int64_t>(rng.below(static_cast<uint64_t>(room)));
  }
}

void Fleet::run() {
  while (!ending_) {
    const int64_t now = now_nanoseconds();
    std::vector<int> due;
    {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < agents_.size(); ++i) {
        Agent& agent = agents_[i];
        if (now >= agent.stop_at) agent.stopped = true;
        if (agent.stopped || agent.in_flight || agent.due > now) continue;
        agent.in_flight = true;
        due.push_back(static_cast<int>(i));
      }
    }
    for (const int index : due) announce(index);
    test::let_pass(std::chrono::milliseconds(5));
  }
}

void Fleet::announce(int index) {
  auto* call =
      new Call{.index = index, .sent = now_nanoseconds(), .request = announcement_of(index)};
  call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  calls_ += 1;
  const size_t connections = static_cast<size_t>(options_.connections);
  stubs_[static_cast<size_t>(index) % connections]->async()->Announce(
      &call->context, &call->request, &call->response, [this, call](const grpc::Status& status) {
        on_answer(*call, status);
        delete call;
        calls_ -= 1;
      });
}

void Fleet::on_answer(Call& call, const grpc::Status& status) {
  const int64_t now = now_nanoseconds();
  if (status.ok()) delays_.record(now - call.sent);
  const std::lock_guard lock(mutex_);
  Agent& agent = agents_[static_cast<size_t>(call.index)];
  agent.in_flight = false;
  if (status.ok()) {
    findings_.announced += 1;
    agent.last_sent = call.sent;
    agent.due = now + nanoseconds(call.response.next_in());
    HF_CHECK(nanoseconds(call.response.ttl()) == options_.ttl_seconds * kSecond,
             "the controller gives the TTL that is measured");
    return;
  }
  if (findings_.failed == 0 && !ending_) {
    std::fprintf(stderr, "first failed announcement: %s\n", status.error_message().c_str());
  }
  findings_.failed += ending_ ? 0 : 1;
  agent.due = now + kSecond;
}

void Fleet::watch() {
  v1::WatchRequest request;
  request.add_kinds()->set_kind("agent");
  const auto stub = v1::Events::NewStub(channels_.back());
  const auto stream = stub->Watch(&watch_context_, request);
  v1::WatchResponse response;
  while (stream->Read(&response)) {
    for (const v1::Event& event : response.events()) {
      const bool is_offline = event.type() == v1::EVENT_TYPE_PUT &&
                              event.resource().agent().announcement().has_offline_since();
      if (is_offline) on_offline(event.resource().metadata().name());
    }
  }
  HF_CHECK(ending_, "the watch holds to the end: " + stream->Finish().error_message());
}

void Fleet::on_offline(const std::string& name) {
  const size_t index = std::stoul(name.substr(std::string_view("agent-").size())) - 100'000;
  const std::lock_guard lock(mutex_);
  Agent& agent = agents_.at(index);
  if (!agent.stopped) findings_.false_offline += 1;
  if (agent.stopped && agent.offline_seen == 0) agent.offline_seen = now_nanoseconds();
}

FleetFindings Fleet::finish() {
  if (ending_.exchange(true)) return findings_;
  if (runner_.joinable()) runner_.join();
  HF_CHECK(test::eventually([&] { return calls_ == 0; }, kPatience), "every call ends");
  watch_context_.TryCancel();
  if (watcher_.joinable()) watcher_.join();
  const int64_t ttl = options_.ttl_seconds * kSecond;
  findings_.earliest_seconds = 1e9;
  for (const Agent& agent : agents_) {
    if (agent.stop_at == INT64_MAX || agent.last_sent == 0) continue;
    if (agent.offline_seen == 0) {
      findings_.missed += 1;
      continue;
    }
    const double after = static_cast<double>(agent.offline_seen - agent.last_sent - ttl) / 1e9;
    findings_.latest_seconds = std::max(findings_.latest_seconds, after);
    findings_.earliest_seconds = std::min(findings_.earliest_seconds, after);
  }
  return findings_;
}

}  // namespace holdfast::bench
