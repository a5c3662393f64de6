// An upstream in memory that behaves, and misbehaves when told: whole kinds that it does not know,
// gone altogether, or failing or hanging at its Nth operation.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "cache/derived_service.h"
#include "cache/upstream.h"
#include "events/fan_out.h"
#include "resource/registry.h"

namespace holdfast::cache {

class FakeUpstream final : public Upstream {
 public:
  FakeUpstream(const asio::any_io_executor& loop, std::vector<resource::Kind> kinds)
      : loop_(loop), kinds_(std::move(kinds)) {
    begin();
  }

  // Times any of the operations was begun; next() counts once per message.
  size_t operations = 0;
  std::map<std::string, size_t> gets{};   // by kind
  std::map<std::string, size_t> lists{};  // by kind
  size_t watches = 0;
  std::vector<int64_t> resumed_after{};  // of each watch
  std::optional<size_t> fail_at{};       // the operation of this number fails
  Status failure = absl::UnavailableError("told to fail");
  std::optional<size_t> hang_at{};  // the operation of this number waits until cancelled
  bool hang_gets = false;           // so does every get()
  bool gone = false;                // everything is refused; see leave()

  void put(resource::Kind kind, const std::string& name, const std::string& description = "") {
    v1::Resource made = resource::make_resource(kind, name);
    made.set_kind(std::string(resource::info(kind).name));
    made.mutable_metadata()->set_description(description);
    made.mutable_metadata()->set_revision(++revision_);
    items_[made.kind()][name] = made;
    if (!knows(made.kind())) return;
    std::vector<events::Event> events;
    events.push_back(events::make_put(made, nullptr, revision_));
    derived_->wake(fan_out_->append(std::move(events), Time()));
  }
  void erase(resource::Kind kind, const std::string& name) {
    const std::string kind_name(resource::info(kind).name);
    items_[kind_name].erase(name);
    std::vector<events::Event> events;
    events.push_back(events::make_delete(kind_name, name, ++revision_));
    derived_->wake(fan_out_->append(std::move(events), Time()));
  }
  // Every stream ends with `why`, and can be resumed.
  void end_streams(const Status& why) { end_all(why); }
  void leave() {
    gone = true;
    end_all(absl::UnavailableError("the server is gone"));
  }
  void come_back() { gone = false; }
  // What hangs ends as if it had been cancelled.
  void end_hanging() { never_.cancel(); }
  size_t streams() const { return streams_.size(); }
  int64_t revision() const { return revision_; }

  asio::awaitable<Result<std::unique_ptr<EventStream>>> watch(v1::WatchRequest request) override {
    watches += 1;
    resumed_after.push_back(request.after_revision());
    CO_TRY_OK(co_await operate());
    CO_TRY(std::unique_ptr<EventStream> opened, derived_->open(request));
    co_return std::make_unique<Stream>(*this, std::move(opened));
  }
  asio::awaitable<Result<v1::ListResponse>> list(v1::ListRequest request) override {
    lists[request.kind()] += 1;
    CO_TRY_OK(co_await operate());
    CO_TRY_OK(check(request.kind()));
    v1::ListResponse response;
    response.set_revision(revision_);
    response.set_page_revision(revision_);
    const std::map<std::string, v1::Resource>& items = items_[request.kind()];
    auto next = items.upper_bound(request.page_token());
    const size_t size = request.page_size() == 0 ? 200 : request.page_size();
    for (; next != items.end() && static_cast<size_t>(response.resources_size()) < size; ++next) {
      *response.add_resources() = next->second;
    }
    if (next != items.end()) response.set_next_page_token(std::prev(next)->first);
    co_return response;
  }
  asio::awaitable<Result<v1::Resource>> get(v1::GetRequest request) override {
    gets[request.kind()] += 1;
    if (hang_gets) co_return co_await hang();
    CO_TRY_OK(co_await operate());
    CO_TRY_OK(check(request.kind()));
    const auto found = items_[request.kind()].find(request.name());
    if (found == items_[request.kind()].end()) co_return absl::NotFoundError("there is none");
    co_return found->second;
  }

 private:
  class Stream final : public EventStream {
   public:
    Stream(FakeUpstream& owner, std::unique_ptr<EventStream> inner)
        : owner_(owner), inner_(std::move(inner)) {
      owner_.streams_.insert(this);
    }
    ~Stream() override { owner_.streams_.erase(this); }
    asio::awaitable<Result<v1::WatchResponse>> next() override {
      CO_TRY_OK(co_await owner_.operate());
      Result<v1::WatchResponse> message = co_await inner_->next();
      if (ended_) co_return *ended_;
      co_return message;
    }
    void close() override { inner_->close(); }
    void end(const Status& why) {
      ended_ = why;
      inner_->close();
    }

   private:
    FakeUpstream& owner_;
    std::unique_ptr<EventStream> inner_;
    std::optional<Status> ended_;
  };

  void begin() {
    std::vector<events::WatchKind> offered;
    for (const resource::Kind kind : kinds_) {
      offered.push_back({.kind = std::string(resource::info(kind).name), .with_secrets = true});
    }
    fan_out_ = std::make_unique<events::FanOut>(events::FanOutOptions{}, offered);
    derived_ = std::make_unique<DerivedService>(loop_, *fan_out_);
    fan_out_->init(offered, revision_, revision_);
  }
  void end_all(const Status& why) {
    for (Stream* stream : streams_) stream->end(why);
  }
  bool knows(const std::string& kind) const {
    return std::ranges::any_of(
        kinds_, [&](resource::Kind known) { return resource::info(known).name == kind; });
  }
  Status check(const std::string& kind) const {
    return knows(kind) ? absl::OkStatus() : absl::UnimplementedError("what is that?");
  }
  asio::awaitable<Status> hang() {
    co_await never_.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return absl::CancelledError("cancelled");
  }
  asio::awaitable<Status> operate() {
    operations += 1;
    if (fail_at == operations) co_return failure;
    if (hang_at == operations) co_return co_await hang();
    if (gone) co_return absl::UnavailableError("the server is gone");
    co_return absl::OkStatus();
  }

  asio::any_io_executor loop_;
  std::vector<resource::Kind> kinds_;
  asio::steady_timer never_{loop_, asio::steady_timer::time_point::max()};
  int64_t revision_ = 1;
  std::map<std::string, std::map<std::string, v1::Resource>> items_;
  std::unique_ptr<events::FanOut> fan_out_;
  std::unique_ptr<DerivedService> derived_;
  std::set<Stream*> streams_;
};

}  // namespace holdfast::cache
