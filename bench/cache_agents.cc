#include "cache_agents.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <ctime>

#include "base/check.h"
#include "base/rng.h"

namespace holdfast::bench {
namespace {

constexpr const char* kZones[] = {"zurich-a", "zurich-b", "dublin-a", "osaka-a"};
constexpr int64_t kStart = 1'790'000'000;

std::string agent_name(int index) {
  return fmt::format("edge-{:06}-{}", index, kZones[index % 4]);
}

// The agents of a small set lie anywhere among all, not beside each other.
int scattered(int index) {
  constexpr int64_t kPrime = 48'271;  // shares no factor with kAgents: no two become one
  return static_cast<int>(index * kPrime % kAgents);
}

std::string pin(char digit) {
  return "sha256:" + std::string(64, digit);
}

}  // namespace

v1::Resource make_agent(int index) {
  v1::Resource resource;
  resource.set_kind("agent");
  v1::Metadata& metadata = *resource.mutable_metadata();
  metadata.set_name(agent_name(index));
  (*metadata.mutable_labels())["rack"] = fmt::format("r{}", index % 500);
  (*metadata.mutable_labels())["tier"] = index % 3 == 0 ? "canary" : "stable";
  metadata.set_revision(index + 1);
  metadata.mutable_expires()->set_seconds(kStart + 600);
  v1::Agent& agent = *resource.mutable_agent();
  agent.set_zone(kZones[index % 4]);
  agent.set_version("1.4.2");
  for (const char* service : {"web", "payments-db"}) {
    agent.add_services()->set_service(service);
    agent.mutable_services()->rbegin()->set_healthy(true);
  }
  for (const char* proxy : {"px-a1", "px-b1"}) agent.add_proxies(proxy);
  agent.mutable_started()->set_seconds(kStart);
  agent.mutable_last_heartbeat()->set_seconds(kStart + index % 60);
  v1::Announcement& announcement = *agent.mutable_announcement();
  announcement.mutable_ttl()->set_seconds(60);
  announcement.add_trusted_pins(pin('a'));
  announcement.set_issuer_pin(pin('a'));
  announcement.mutable_certificate_expires()->set_seconds(kStart + 86'400);
  return resource;
}

std::vector<v1::ListResponse> make_pages() {
  std::vector<v1::ListResponse> pages(kAgents / kPageSize);
  for (int i = 0; i < kAgents; ++i) {
    *pages[static_cast<size_t>(i / kPageSize)].add_resources() = make_agent(i);
  }
  for (auto& page : pages) {
    page.set_revision(kRevision);
    page.set_page_revision(kRevision);
    page.set_next_page_token(page.resources().rbegin()->metadata().name());
  }
  pages.back().clear_next_page_token();
  return pages;
}

std::vector<std::string> encoded_pages() {
  std::vector<std::string> encoded;
  for (const auto& page : make_pages()) encoded.push_back(page.SerializeAsString());
  return encoded;
}

std::vector<v1::ListResponse> decode(const std::vector<std::string>& encoded) {
  std::vector<v1::ListResponse> pages(encoded.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    HF_CHECK(pages[i].ParseFromString(encoded[i]), "a page parses");
  }
  return pages;
}

cache::Table table_of(std::vector<v1::ListResponse>& pages) {
  cache::Table table;
  for (v1::ListResponse& page : pages) {
    for (v1::Resource& resource : *page.mutable_resources()) {
      table.put(std::make_shared<const v1::Resource>(std::move(resource)));
    }
  }
  return table;
}

std::unique_ptr<cache::Snapshot> snapshot_of(cache::Table agents, uint64_t generation) {
  auto snapshot = std::make_unique<cache::Snapshot>();
  snapshot->of(resource::Kind::Agent) = {
      .source = cache::Source::Cache, .generation = generation, .items = std::move(agents)};
  return snapshot;
}

Names::Names(uint64_t seed, int among) : text_(kCount * kStride, ' ') {
  Rng rng(seed);
  for (size_t i = 0; i < kCount; ++i) {
    const std::string name =
        agent_name(scattered(static_cast<int>(rng.below(static_cast<uint64_t>(among)))));
    HF_CHECK(name.size() <= kStride, "a name fits");
    name.copy(text_.data() + i * kStride, name.size());
    sizes_.push_back(static_cast<uint8_t>(name.size()));
  }
}

std::string_view Names::operator[](uint64_t i) const {
  const size_t at = i % kCount;
  return {text_.data() + at * kStride, sizes_[at]};
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_seconds() {
  timespec used{};
  HF_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0, "a thread has a clock");
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

ThreadCounts thread_counts() {
  rusage usage{};
  HF_CHECK(getrusage(RUSAGE_THREAD, &usage) == 0, "a thread has a usage");
  return {.gave_up = usage.ru_nvcsw,
          .taken_away = usage.ru_nivcsw,
          .faults = usage.ru_minflt + usage.ru_majflt};
}

}  // namespace holdfast::bench
