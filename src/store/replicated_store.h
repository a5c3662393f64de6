// A store of which a copy is kept elsewhere: shows and acknowledges only what every required member
// has. It knows nothing of members; an Admission says what is where and who may write.
//
//   commit ─► may_write ─► [inner store] ─► wait: acknowledged up to its revision ─► answer
//   get, range ──────────► [inner store] ─► wait: acknowledged up to what was read ─► may_read ─►
//   watch ───────────────► [inner watch] ─► wait: acknowledged up to the changes ─► changes
//
// Belongs to the inner store's executor.
#pragma once

#include <set>

#include "store/store.h"

namespace holdfast::store {

class ReplicatedWatch;

class Admission {
 public:
  virtual ~Admission() = default;

  // OK, or why not. A passive half: kUnavailable with HF4101 and the active's address.
  virtual Status may_write() const = 0;
  // Also that what was read a moment ago is still the truth: asked after reading.
  virtual Status may_read() const = 0;
  // Another number whenever this half has become the active one anew.
  virtual uint64_t activation() const = 0;

  // Everything up to here is on every required member. Never goes back within an activation.
  virtual Revision acknowledged_through() const = 0;
  // Waits until that reaches `revision`, for a limited time. An error: nobody knows, and it may
  // still happen; also if this half stops being the active one.
  virtual asio::awaitable<Status> acknowledged(Revision revision) = 0;
};

class ReplicatedStore final : public Store {
 public:
  // Both outlive it.
  ReplicatedStore(Store& inner, Admission& admission) : inner_(inner), admission_(admission) {}
  ~ReplicatedStore() override;
  ReplicatedStore(const ReplicatedStore&) = delete;
  ReplicatedStore& operator=(const ReplicatedStore&) = delete;

  asio::awaitable<Result<Item>> get(std::string key) override;
  asio::awaitable<Result<RangeResult>> range(RangeRequest request) override;
  // kUnavailable with HF4115 and "outcome unknown" if it is written here and not acknowledged.
  asio::awaitable<Result<Revision>> commit(std::vector<Operation> operations) override;
  asio::awaitable<Result<std::unique_ptr<Watch>>> watch(KeyRange range, Revision after) override;
  // Does not wait: nobody is told of what expired but by reads and watches, and they wait.
  asio::awaitable<Result<size_t>> expire(WallTime now, size_t limit) override;
  asio::awaitable<Status> compact(Revision through) override;

  // Every watch fails with `why` from now on: this half stopped being the active one.
  void end_watches(const Status& why);

 private:
  // A failed commit tells what is stored, as a read does.
  asio::awaitable<Status> failed(Status why, uint64_t activation);
  // Waits until what was read is acknowledged, and asks whether it still holds.
  asio::awaitable<Status> settle(Revision read, uint64_t activation);
  asio::awaitable<Result<Revision>> revision();

  Store& inner_;
  Admission& admission_;
  std::set<ReplicatedWatch*> watches_;
};

}  // namespace holdfast::store
