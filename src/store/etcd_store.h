// The store on an etcd cluster: for any number of controllers, on the engine many already run.
//
// Every read and write is linearizable. A member that dies or freezes costs a pause, not an error,
// while a majority of members lives and a request has time left. Expiry is done by etcd itself, at
// the item's expiry or a few seconds after it, never before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/etcd_client.h"
#include "store/etcd_commit.h"
#include "store/etcd_keys.h"
#include "store/etcd_options.h"
#include "store/store.h"

namespace holdfast::store {

class EtcdStore final : public Store {
 public:
  // Connects with the first request. The clock outlives the store; its watches do not.
  EtcdStore(const asio::any_io_executor& executor, const EtcdOptions& options, const Clock& clock);

  asio::awaitable<Result<Item>> get(std::string key) override;
  asio::awaitable<Result<RangeResult>> range(RangeRequest request) override;
  asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations) override;
  asio::awaitable<Result<std::unique_ptr<Watch>>> watch(KeyRange range, Revision after) override;
  asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) override;
  asio::awaitable<Status> compact(Revision through) override;

 private:
  // One consistent answer read in pages; kOutOfRange if it was compacted away meanwhile.
  asio::awaitable<Result<RangeResult>> read_pages(const RangeRequest& request);

  asio::any_io_executor executor_;
  EtcdOptions options_;
  EtcdKeys keys_;
  EtcdClient client_;
  EtcdCommitter committer_;
};

}  // namespace holdfast::store
