// What a proxy's services count beside what their cores do, in plain numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tunnel/session.h"

namespace holdfast::tunnel {

struct ProxyCounts {
  std::map<std::string, uint64_t> refused_tunnels{};  // by code
  uint64_t failed_handshakes = 0;
  std::map<std::string, uint64_t> broken{};  // tunnels and links of peers, by code
  uint64_t tunnels_lost = 0;                 // that ended otherwise than by a goodbye
  uint64_t tunnels_left = 0;
  std::map<std::string, uint64_t> tunnels_ended{};  // by code, "none" without
  SessionStats sessions{};                          // of tunnels that are over
  uint64_t discovery_sent = 0;
  uint64_t discovery_dropped = 0;             // not sent because the agent reads too slowly
  std::map<std::string, uint64_t> advised{};  // by code

  std::map<std::string, uint64_t> dials{};  // "own", "peer", or the code of what failed
  uint64_t retried = 0;                     // candidates that did not take a stream

  uint64_t peers_connected = 0;
  uint64_t peers_renewed = 0;  // of them, in the place of another
  uint64_t peers_lost = 0;
  uint64_t peer_dials_failed = 0;
  std::map<std::string, uint64_t> refused_peers{};   // by code
  uint64_t relayed = 0;                              // streams of peers that were carried on
  std::map<std::string, uint64_t> relays_refused{};  // by the word of the reset
  uint64_t holding_sent = 0;

  uint64_t drains = 0;
  uint64_t drains_unannounced = 0;  // no controller took it in time
  uint64_t cut_streams = 0;         // that ran at a drain's deadline
};

}  // namespace holdfast::tunnel
