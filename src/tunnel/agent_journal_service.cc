#include "tunnel/agent_journal_service.h"

#include <utility>

#include "base/log.h"
#include "base/reason.h"
#include "tunnel/agent_inputs.h"

namespace holdfast::tunnel {
namespace {

using How = TunnelEnd::How;

constexpr size_t kMaxFailing = 1'024;  // addresses; then all are forgotten, and logged once more
constexpr size_t kMaxCodes = 64;       // proxies could make up any number of them

std::string journal_code(const Status& why) {
  const std::string code(split_reason(why).code);
  return is_reason_code(code) ? code : "other";
}

std::string text(const Status& why) {
  return std::string(why.message());
}

}  // namespace

void AgentJournal::connected(const ProxyInfo& proxy, const std::string& address) {
  ++stats_.connected;
  failing_.erase(address);
  told_.erase(proxy.name);
  last_failure_.clear();
  log::info("tunnel connected",
            {{"proxy", proxy.name}, {"zone", proxy.zone}, {"address", address}});
}

void AgentJournal::advised(const std::string& proxy, const MoveAdvice& advice) {
  ++stats_.advised;
  if (told_.size() >= kMaxFailing) told_.clear();
  // A proxy that says it all the time says nothing new.
  if (!told_.insert(proxy).second) return;
  log::info("a proxy asks the agent to move",
            {{"proxy", proxy}, {"code", advice.code}, {"why", advice.reason}});
}

void AgentJournal::drains(const std::string& proxy, std::string_view code, std::string_view why) {
  log::info("tunnel drains", {{"proxy", proxy}, {"code", code}, {"why", why}});
}

void AgentJournal::ended(const TunnelEnd& end, const std::string& proxy, const std::string& address,
                         Time now) {
  switch (end.how) {
    case How::AlreadyClaimed:
      log::debug("a proxy is had already", {{"proxy", proxy}, {"address", address}});
      return;
    case How::Failed:
    case How::Refused:
      return failed(end.why, address);
    case How::Drained:
      ++stats_.drained;
      log::info("tunnel drained", {{"proxy", proxy}});
      return;
    case How::Lost:
      ++stats_.lost;
      ++stats_.losses[journal_code(end.why)];
      recovery_.lost(now);
      log::warn("tunnel lost", {{"proxy", proxy},
                                {"streams", end.streams},
                                {"code", journal_code(end.why)},
                                {"why", text(end.why)}});
  }
}

void AgentJournal::failed(const Status& why, const std::string& address) {
  std::string code = journal_code(why);
  if (!stats_.failures.contains(code) && stats_.failures.size() >= kMaxCodes) code = "other";
  ++stats_.failures[code];
  last_failure_ = address + ": " + text(why);
  if (failing_.size() >= kMaxFailing) failing_.clear();
  if (std::exchange(failing_[address], code) == code) return;
  log::warn("cannot make a tunnel; trying again",
            {{"address", address}, {"code", code}, {"why", text(why)}});
}

void AgentJournal::observe(const PoolView& view, Time now) {
  stats_.tunnels = view.usable;
  stats_.wanted = view.desired_count;
  stats_.claims_refused = view.stats.already_claimed;
  const auto took = recovery_.observe(view.usable_desired, view.desired_count, now);
  stats_.recoveries = recovery_.count();
  stats_.last_recovery = recovery_.last();
  stats_.recovery_sum = recovery_.sum();
  if (took) {
    log::info("as many tunnels as wanted again",
              {{"tunnels", view.usable}, {"took", to_short_string(*took)}});
  }
  // While one is dialled, what was said before it is neither confirmed nor over.
  if (view.shortfall_code == kConnecting) return;
  if (std::exchange(shortfall_code_, view.shortfall_code) == view.shortfall_code) return;
  if (view.shortfall_code.empty()) return;
  log::info("fewer tunnels than wanted", {{"tunnels", view.usable},
                                          {"wanted", view.connection_count},
                                          {"code", view.shortfall_code},
                                          {"why", view.shortfall}});
}

}  // namespace holdfast::tunnel
