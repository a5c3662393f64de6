// What happens to a flow, each step exactly once: the state is changed by compare-and-swap, and who
// changed it counts. Release of a socket and its TCP callbacks may run at the same time.
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "track/bpf/maps.h"

#define HF_ECONNRESET 104
#define HF_ETIMEDOUT 110
#define HF_ECONNREFUSED 111

HF_INLINE int hf_moved(struct hf_flow* flow, __u32 from, __u32 to) {
  return __sync_val_compare_and_swap(&flow->state, from, to) == from;
}

HF_INLINE void hf_count_failure(const struct hf_flow* flow, __u32 was, int error) {
  struct hf_failures* failures = bpf_map_lookup_elem(&hf_failures, &flow->key);

  if (!failures) return;
  if (was == HF_FLOW_ESTABLISHED) {
    if (error) __sync_fetch_and_add(&failures->cut, 1);
  } else if (error == HF_ECONNREFUSED) {
    __sync_fetch_and_add(&failures->refused, 1);
  } else if (error == HF_ETIMEDOUT) {
    __sync_fetch_and_add(&failures->timed_out, 1);
  } else if (error == HF_ECONNRESET) {
    __sync_fetch_and_add(&failures->reset, 1);
  } else {
    __sync_fetch_and_add(&failures->gave_up, 1);
  }
}

HF_INLINE void hf_give_back(const struct hf_flow* flow) {
  __u32* reserved;

  if (!(flow->flags & HF_HOLDS_PLACE)) return;
  reserved = hf_reserved_at(flow->key);
  if (reserved) hf_give_place_back(reserved);
}

HF_INLINE void hf_count_end(const struct hf_flow* flow, __u32 was, int error) {
  struct hf_counts* counts;

  if (was == HF_FLOW_OPEN && error) hf_refused_by(flow->backend, flow->generation);
  if (!(flow->flags & HF_COUNTED)) return;
  if (flow->protocol == HF_TCP && (was == HF_FLOW_OPEN || error))
    hf_count_failure(flow, was, error);
  counts = bpf_map_lookup_elem(&hf_counters, &flow->key);
  if (counts) __sync_fetch_and_add(&counts->closed, 1);
}

// The flow is over, whatever it was; `error` is the socket's, and 0 for UDP. It is free only when
// all of it is counted: another thread of a UDP socket fills it again at once.
HF_INLINE void hf_end(struct hf_flow* flow, int error) {
  const __u32 was = *(volatile __u32*)&flow->state;

  if (was == HF_FLOW_NONE || was == HF_FLOW_CLAIMED) return;
  if (!hf_moved(flow, was, HF_FLOW_CLAIMED)) return;
  hf_give_back(flow);
  if (was != HF_FLOW_PICKED) hf_count_end(flow, was, error);
  hf_moved(flow, HF_FLOW_CLAIMED, HF_FLOW_NONE);
}

HF_INLINE void hf_end_all(struct hf_socket* socket, int error) {
  int i;

  for (i = 0; i < HF_FLOWS_PER_SOCKET; i++) hf_end(&socket->flows[i], error);
}

HF_INLINE void hf_open(struct hf_flow* flow, __u32 from) {
  struct hf_counts* counts = bpf_map_lookup_elem(&hf_counters, &flow->key);

  if (counts) flow->flags |= HF_COUNTED;
  if (!hf_moved(flow, from, HF_FLOW_OPEN)) return;
  if (counts)
    __sync_fetch_and_add(&counts->opened, 1);
  else
    HF_STAT(untracked);
}

// What a connect or a datagram asks for.
struct hf_target {
  struct hf_vip vip;
  struct hf_slot* slot;
  struct hf_key key;
  __u32 holds_place;
};

// Chooses a backend for the target's VIP: 1 chosen, 0 not one of ours, or a negative error.
HF_INLINE int hf_resolve(struct hf_target* target) {
  const struct hf_service* service = bpf_map_lookup_elem(&hf_services, &target->vip);
  const struct hf_plan* plan;
  struct hf_choice choice = {};
  enum hf_verdict verdict;
  __u32 id;

  if (!service || service->flags & HF_SERVICE_RETIRED) return 0;
  id = service->service;
  plan = bpf_map_lookup_elem(&hf_plans, &id);
  verdict = plan ? hf_choose(plan, &choice) : HF_NO_BACKEND;
  if (verdict == HF_ALL_FULL) {
    HF_STAT(rejected);
    return -HF_ECONNREFUSED;
  }
  target->slot = verdict == HF_CHOSEN ? hf_slot_at(choice.slot) : 0;
  if (!target->slot) {
    HF_STAT(no_backend);
    return -113;  // EHOSTUNREACH
  }
  target->key.service = (__u16)id;
  target->key.zone = choice.zone;
  target->holds_place = choice.holds_place;
  return 1;
}

// Nothing can be kept with this socket: it is translated and neither counted nor limited.
HF_INLINE void hf_forget(const struct hf_target* target) {
  __u32* reserved = target->holds_place ? hf_reserved_at(target->key) : 0;

  if (reserved) hf_give_place_back(reserved);
  HF_STAT(untracked);
}

// Requires: nobody else fills this flow.
HF_INLINE void hf_fill(struct hf_flow* flow, const struct hf_target* target) {
  const struct hf_health* health = hf_health_at(target->slot->backend);

  flow->backend = target->slot->backend;
  flow->generation = health ? health->generation : 0;
  flow->vip = target->vip.address;
  flow->vip_port = target->vip.port;
  flow->address = target->slot->address;
  flow->port = target->slot->port;
  flow->key = target->key;
  flow->protocol = target->vip.protocol;
  flow->flags = target->holds_place ? HF_HOLDS_PLACE : 0;
  flow->used_ns = target->vip.protocol == HF_UDP ? bpf_ktime_get_coarse_ns() : 0;
}

HF_INLINE int hf_same(const struct hf_address* one, const struct hf_address* other) {
  return one->words[0] == other->words[0] && one->words[1] == other->words[1] &&
         one->words[2] == other->words[2] && one->words[3] == other->words[3];
}
