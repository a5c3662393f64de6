// The maps as the kernel's programs see them, and what selection.h asks of them. Sizes are
// defaults: the loader sets them. Counter keys are made by the agent, so that two first connections
// never race and nobody can fill the map.
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "track/selection.h"

#define HF_ARRAY(name, value_type, entries) \
  struct {                                  \
    __uint(type, BPF_MAP_TYPE_ARRAY);       \
    __uint(max_entries, entries);           \
    __type(key, __u32);                     \
    __type(value, value_type);              \
  } name SEC(".maps")
#define HF_HASH(name, key_type, value_type, entries) \
  struct {                                           \
    __uint(type, BPF_MAP_TYPE_HASH);                 \
    __uint(max_entries, entries);                    \
    __type(key, key_type);                           \
    __type(value, value_type);                       \
  } name SEC(".maps")

HF_HASH(hf_services, struct hf_vip, struct hf_service, 4096);
HF_ARRAY(hf_plans, struct hf_plan, 4096);
HF_ARRAY(hf_slots, struct hf_slot, 16384);
HF_ARRAY(hf_health, struct hf_health, 16384);
HF_HASH(hf_counters, struct hf_key, struct hf_counts, 16384);
HF_HASH(hf_failures, struct hf_key, struct hf_failures, 16384);
HF_HASH(hf_reserved, struct hf_key, __u32, 16384);
HF_ARRAY(hf_settings, struct hf_settings, 1);
HF_ARRAY(hf_stats, struct hf_stats, 1);

struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct hf_socket);
} hf_sockets SEC(".maps");

#define HF_STAT(field)                                                \
  do {                                                                \
    const __u32 zero_ = 0;                                            \
    struct hf_stats* stats_ = bpf_map_lookup_elem(&hf_stats, &zero_); \
    if (stats_) __sync_fetch_and_add(&stats_->field, 1);              \
  } while (0)

HF_INLINE struct hf_slot* hf_slot_at(__u32 index) {
  return bpf_map_lookup_elem(&hf_slots, &index);
}

HF_INLINE struct hf_health* hf_health_at(__u32 backend) {
  return bpf_map_lookup_elem(&hf_health, &backend);
}

HF_INLINE __u32* hf_reserved_at(struct hf_key key) {
  return bpf_map_lookup_elem(&hf_reserved, &key);
}

HF_INLINE struct hf_settings* hf_settings_of(void) {
  const __u32 zero = 0;

  return bpf_map_lookup_elem(&hf_settings, &zero);
}

HF_INLINE __u32 hf_random(void) {
  return bpf_get_prandom_u32();
}

HF_INLINE __u64 hf_now_ns(void) {
  return bpf_ktime_get_ns();
}

HF_INLINE void hf_count(enum hf_event event) {
  if (event == HF_EVENT_PROBE) HF_STAT(probes);
  if (event == HF_EVENT_SPILL) HF_STAT(spilled);
  if (event == HF_EVENT_OVERFLOW) HF_STAT(overflowed);
  if (event == HF_EVENT_PANIC) HF_STAT(panicked);
}
