#include "e2e/idle_watches.h"

#include <algorithm>

#include "base/check.h"
#include "support/eventually.h"

namespace holdfast::test {

using namespace std::chrono_literals;

class IdleWatches::Watch final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  Watch(IdleWatches& owner, const v1::WatchRequest& request, Reads reads)
      : owner_(owner), request_(request) {
    owner.client_.events().async()->Watch(&context_, &request_, this);
    if (reads == Reads::FirstMessage) StartRead(&response_);
    StartCall();
  }

  void cancel() { context_.TryCancel(); }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) return;
    is_answered_ = true;
    owner_.answered_ += 1;
  }
  bool is_answered() const { return is_answered_; }
  void OnDone(const grpc::Status& /*status*/) override { owner_.ended_ += 1; }

 private:
  IdleWatches& owner_;
  grpc::ClientContext context_;
  v1::WatchRequest request_;
  v1::WatchResponse response_;
  std::atomic<bool> is_answered_ = false;
};

IdleWatches::IdleWatches(ApiClient& client) : client_(client) {}

IdleWatches::~IdleWatches() {
  cancel(watches_.size());
  const bool all = eventually([&] { return ended_ == watches_.size(); }, 20s);
  HF_CHECK(all, "a cancelled watch ends");
}

void IdleWatches::open(size_t count, const v1::WatchRequest& request, Reads reads) {
  for (size_t i = 0; i < count; ++i) {
    watches_.push_back(std::make_unique<Watch>(*this, request, reads));
  }
}

void IdleWatches::cancel(size_t count) {
  // Not those that still wait for their turn, which need not be the last that were begun.
  std::vector<Watch*> watches;
  for (const auto& watch : watches_) watches.push_back(watch.get());
  std::ranges::partition(watches, [](const Watch* each) { return each->is_answered(); });
  for (size_t i = 0; i < count; ++i) watches[i]->cancel();
}

}  // namespace holdfast::test
