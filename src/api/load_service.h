// Deals the capacity of services to those who open connections, as route::Dealer decides: fed with
// their reports and the stored services. One controller deals at a time; another passes on what it
// is told to the one that does.
//
//   holder ── Report ──► LoadService ─► route::Dealer ─► grant ──► holder
//                            │ does not deal: to the controller that does
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/gate.h"
#include "base/clock.h"
#include "holdfast/v1/load.pb.h"
#include "identity/rate_limit.h"
#include "route/dealer.h"
#include "store/store.h"

namespace holdfast::api {

namespace asio = boost::asio;

struct LoadServiceOptions {
  std::string controller_name{};
  route::DealerOptions dealer{};
  // A holder reports once a second, and ten times when it runs short.
  identity::RateLimitOptions reports{.per_second = 12, .burst = 24, .max_callers = 8'192};
  // Answers may be large.
  identity::RateLimitOptions questions{.per_second = 5, .burst = 20, .max_callers = 8'192};
  size_t max_pools = 10'000;    // of one answer
  size_t max_holders = 20'000;  // of one answer: rows of holders
};

struct LoadStats {
  uint64_t reports = 0;
  uint64_t refused = 0;    // wrong, or too many holders
  uint64_t over_rate = 0;  // too often
  uint64_t passed_on = 0;
  uint64_t not_passed_on = 0;
};

class LoadService {
 public:
  struct Parts {
    Gate& gate;
    const Clock& clock;
    // Whether it is this controller that deals now.
    std::function<bool()> deals;
    // OK, or why it may not for the moment: kFailedPrecondition HF2404, another may have begun to.
    // What it dealt before is remembered.
    std::function<Status()> may_deal;
    // To the one that does; kFailedPrecondition HF2404 if it cannot be asked.
    std::function<asio::awaitable<Result<v1::LoadGrant>>(v1::LoadReport)> pass_report;
    std::function<asio::awaitable<Result<v1::GetLoadResponse>>(v1::GetLoadRequest)> pass_question;
  };
  LoadService(Parts parts, LoadServiceOptions options);

  // The stored services: everything, or one change.
  void on_reset(const std::vector<store::Item>& items);
  void on_change(const store::Change& change);
  // About once a second.
  void on_tick();

  asio::awaitable<Result<v1::LoadGrant>> report(Caller caller, v1::LoadReport request);
  // Of services that the caller may list.
  asio::awaitable<Result<v1::GetLoadResponse>> get_load(Caller caller, v1::GetLoadRequest request);

  const LoadStats& stats() const { return stats_; }
  // Null while another controller deals, and until the first report or tick since then.
  const route::Dealer* dealer() const { return dealer_ && parts_.deals() ? &*dealer_ : nullptr; }

 private:
  struct Known {
    route::Capacity capacity{};
    v1::WhenFull when_full{};
    v1::Resource labelled{};  // its metadata, for permissions
  };

  // Begins to deal, or leaves it; whether it does.
  bool follow_tenure();
  void take(const v1::Resource& service);
  void tell_dealer();
  Status name_holder(const Caller& caller, v1::LoadReport& request);
  Result<v1::LoadGrant> deal(const v1::LoadReport& request);
  v1::GetLoadResponse answer(const v1::GetLoadRequest& request);
  void narrow(const identity::Grant& grant, v1::GetLoadResponse& response) const;

  Parts parts_;
  LoadServiceOptions options_;
  std::map<std::string, Known, std::less<>> services_;
  bool changed_ = false;  // and the dealer does not know yet
  std::optional<route::Dealer> dealer_;
  Time deals_since_{};
  identity::RateLimit report_rate_;
  identity::RateLimit question_rate_;
  LoadStats stats_;
};

}  // namespace holdfast::api
