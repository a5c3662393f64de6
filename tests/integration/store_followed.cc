#include "integration/store_followed.h"

#include "base/rng.h"

namespace holdfast::test {
namespace {

namespace asio = boost::asio;
constexpr uint64_t kKeys = 300;

store::Operation put(uint64_t key, const std::string& value) {
  store::Operation operation;
  operation.key = "/k" + std::to_string(key);
  operation.value = value + std::string(300, '.');
  return operation;
}

}  // namespace

asio::awaitable<Status> begin_followed(store::MemoryStore& store, store::Epoch epoch) {
  for (uint64_t key = 0; key < kKeys; key += 50) {
    std::vector<store::Operation> operations;
    for (uint64_t i = key; i < key + 50; ++i) operations.push_back(put(i, std::to_string(epoch)));
    CO_TRY_OK((co_await store.commit(std::move(operations))).status());
  }
  co_return co_await store.begin_tenure(epoch);
}

asio::awaitable<Status> advance_followed(store::MemoryStore& store) {
  const store::Head head = store.facts().head;
  Rng rng(head.chain);
  const uint64_t first = rng.below(kKeys);
  std::vector<store::Operation> operations;
  for (uint64_t i = 0; i <= rng.below(4); ++i) {
    operations.push_back(put((first + i) % kKeys, std::to_string(head.revision)));
    const bool erase = i > 0 && rng.below(3) == 0;
    if (erase) operations.back().type = store::Operation::Type::Delete;
  }
  co_return (co_await store.commit(std::move(operations))).status();
}

}  // namespace holdfast::test
