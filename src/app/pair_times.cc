#include "app/pair_times.h"

namespace holdfast::app {

ha::Timing timing_of(const config::HaConfig& ha) {
  return {.beat = ha.beat,
          .lease = ha.lease,
          .drop = ha.drop,
          .take = ha.take,
          .skew = ha.skew,
          .witness_timeout = ha.witness_timeout,
          .vote_patience = ha.vote_patience,
          .recovery = ha.recovery};
}

Status check_pair_times(const config::HaConfig& ha) {
  return ha::check(timing_of(ha));
}

}  // namespace holdfast::app
