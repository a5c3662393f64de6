// Which backend a connection gets: the zones in order, each until its limit is reached, and in a
// zone one backend by weight that is not ejected. Plain C: the kernel's programs and the unit test
// compile the same lines, and each says before this header is included what its maps are:
//
//   hf_slot_at(), hf_health_at(), hf_reserved_at(), hf_settings_of()    null if there is none
//   hf_random(), hf_now_ns(), hf_count()
#pragma once

#include "track/layout.h"

#define HF_INLINE static inline __attribute__((always_inline, unused))

// The kernel's verifier looks at these on their own, once, instead of wherever they are called.
#ifdef __bpf__
#define HF_PART __attribute__((noinline))
#else
#define HF_PART static inline __attribute__((unused))
#endif

HF_INLINE struct hf_slot* hf_slot_at(__u32 index);
HF_INLINE struct hf_health* hf_health_at(__u32 backend);
HF_INLINE __u32* hf_reserved_at(struct hf_key key);
HF_INLINE struct hf_settings* hf_settings_of(void);
HF_INLINE __u32 hf_random(void);
HF_INLINE __u64 hf_now_ns(void);

enum hf_event { HF_EVENT_PROBE, HF_EVENT_SPILL, HF_EVENT_OVERFLOW, HF_EVENT_PANIC };
HF_INLINE void hf_count(enum hf_event event);

enum hf_verdict { HF_CHOSEN, HF_NO_BACKEND, HF_ALL_FULL };

struct hf_choice {
  __u32 slot;
  __u8 zone;
  __u8 holds_place;
  __u16 pad;
};

// Random looks into a zone's table before it is walked from one end to the other.
#define HF_LOOKS 3

HF_INLINE __u32 hf_scale(__u32 random, __u32 bound) {
  return (__u32)(((__u64)random * bound) >> 32);
}

// An odd generation is an id that belongs to nobody.
HF_INLINE int hf_is_gone(const struct hf_health* health) {
  return health->generation & 1;
}

// Whether the backend may be tried. An ejected one may be when its time for a probe has come, by
// one connection: it moves the time on.
HF_INLINE int hf_is_usable(__u32 backend) {
  struct hf_health* health = hf_health_at(backend);
  const struct hf_settings* settings = hf_settings_of();
  __u64 now, due;

  if (!health || !settings || hf_is_gone(health)) return 0;
  if (!settings->refusals_to_eject || health->refusals < settings->refusals_to_eject) return 1;
  now = hf_now_ns();
  due = health->probe_at_ns;
  if (now < due) return 0;
  if (__sync_val_compare_and_swap(&health->probe_at_ns, due, now + settings->probe_after_ns) != due)
    return 0;
  hf_count(HF_EVENT_PROBE);
  return 1;
}

// A backend refused a connection, or did not answer it.
HF_INLINE void hf_refused_by(__u32 backend, __u32 generation) {
  struct hf_health* health = hf_health_at(backend);
  const struct hf_settings* settings = hf_settings_of();
  __u32 refusals, beyond;
  __u64 delay;

  if (!health || !settings || health->generation != generation) return;
  refusals = __sync_fetch_and_add(&health->refusals, 1) + 1;
  if (!settings->refusals_to_eject || refusals < settings->refusals_to_eject) return;
  beyond = refusals - settings->refusals_to_eject;
  delay = settings->probe_after_ns << (beyond < 16 ? beyond : 16);
  if (delay > settings->probe_at_most_ns) delay = settings->probe_at_most_ns;
  health->probe_at_ns = hf_now_ns() + delay;
}

HF_INLINE void hf_accepted_by(__u32 backend, __u32 generation) {
  struct hf_health* health = hf_health_at(backend);

  if (health && health->generation == generation && health->refusals) health->refusals = 0;
}

// A place below the limit: 1 if there was one. It may say no once too often when two take the last
// places at the same moment; it never says yes once too often.
HF_INLINE int hf_take_place(__u32* reserved, __u32 limit) {
  if (limit == HF_UNLIMITED) {
    __sync_fetch_and_add(reserved, 1);
    return 1;
  }
  if (*(volatile __u32*)reserved >= limit) return 0;
  if (__sync_fetch_and_add(reserved, 1) < limit) return 1;
  __sync_fetch_and_add(reserved, (__u32)-1);
  return 0;
}

HF_INLINE void hf_give_place_back(__u32* reserved) {
  __sync_fetch_and_add(reserved, (__u32)-1);
}

HF_INLINE int hf_ran_out(const struct hf_plan* plan) {
  return plan->lease_end_ns && hf_now_ns() >= plan->lease_end_ns;
}

HF_INLINE __u32 hf_limit(const struct hf_plan* plan, const struct hf_zone* zone) {
  return hf_ran_out(plan) ? zone->static_limit : zone->limit;
}

// The slot by weight, whoever is ejected.
HF_INLINE __u32 hf_slot_by_weight(const struct hf_zone* zone) {
  const __u32 column = hf_scale(hf_random(), zone->slot_count);
  const struct hf_slot* slot = hf_slot_at(zone->first_slot + column);

  if (!slot || hf_random() <= slot->threshold) return zone->first_slot + column;
  return zone->first_slot + slot->alias;
}

enum hf_mode { HF_WITHIN_LIMIT, HF_BEYOND_LIMIT, HF_WHOEVER };

// The range may be another's since the plan was read: then its slots say so, in every mode.
HF_INLINE int hf_slot_is_usable(__u16 service, __u8 zone, __u32 index, enum hf_mode mode) {
  const struct hf_slot* slot = hf_slot_at(index);

  if (!slot || slot->service != service || slot->zone != zone) return 0;
  return mode == HF_WHOEVER || hf_is_usable(slot->backend);
}

// The index of a usable slot plus one, or 0.
HF_PART __u32 hf_slot_in_zone(__u16 service, const struct hf_zone* zone, enum hf_mode mode) {
  __u32 i, start;

  if (!zone) return 0;
  for (i = 0; i < HF_LOOKS; i++) {
    const __u32 index = hf_slot_by_weight(zone);
    if (hf_slot_is_usable(service, zone->zone, index, mode)) return index + 1;
  }
  start = hf_scale(hf_random(), zone->slot_count);
  for (i = 0; i < HF_BACKENDS_PER_ZONE && i < zone->slot_count; i++) {
    __u32 at = start + i;
    if (at >= zone->slot_count) at -= zone->slot_count;
    at += zone->first_slot;
    if (hf_slot_is_usable(service, zone->zone, at, mode)) return at + 1;
  }
  return 0;
}

// One zone: HF_CHOSEN with a place taken, HF_ALL_FULL, or HF_NO_BACKEND.
HF_PART enum hf_verdict hf_try_zone(const struct hf_plan* plan, const struct hf_zone* zone,
                                    enum hf_mode mode, struct hf_choice* choice) {
  struct hf_key key = {0, 0, 0};
  __u32 limit, found;
  __u32* reserved;

  if (!plan || !zone || !choice || !zone->slot_count) return HF_NO_BACKEND;
  key.service = plan->service;
  key.zone = zone->zone;
  limit = mode == HF_BEYOND_LIMIT ? HF_UNLIMITED : hf_limit(plan, zone);
  reserved = hf_reserved_at(key);
  if (reserved ? !hf_take_place(reserved, limit) : !limit) return HF_ALL_FULL;
  found = hf_slot_in_zone(plan->service, zone, mode);
  if (!found) {
    if (reserved) hf_give_place_back(reserved);
    return HF_NO_BACKEND;
  }
  choice->slot = found - 1;
  choice->zone = zone->zone;
  choice->holds_place = reserved != 0;
  return HF_CHOSEN;
}

// Every zone in its order, in one mode. HF_ALL_FULL if one of them was full and none had a place.
HF_INLINE enum hf_verdict hf_try_zones(const struct hf_plan* plan, enum hf_mode mode,
                                       struct hf_choice* choice) {
  enum hf_verdict best = HF_NO_BACKEND;
  __u32 i;

  for (i = 0; i < HF_ZONES_PER_SERVICE && i < plan->zone_count; i++) {
    const enum hf_verdict verdict = hf_try_zone(plan, &plan->zones[i], mode, choice);
    if (verdict == HF_CHOSEN) {
      if (i) hf_count(HF_EVENT_SPILL);
      return HF_CHOSEN;
    }
    if (verdict == HF_ALL_FULL) best = HF_ALL_FULL;
  }
  return best;
}

// Which zone of the plan is gone beyond first, as route/places.h has it for proxies. Leases tell
// that every zone is full: then the first is as good as any. Fixed shares only tell that this
// node's are taken: then the zone that it fills least has most room for what it cannot know.
HF_PART __u32 hf_zone_beyond(const struct hf_plan* plan) {
  __u64 least_taken = 0, least_share = 0;
  __u32 i, least = 0;

  if (!plan || (plan->lease_end_ns && !hf_ran_out(plan))) return 0;
  for (i = 0; i < HF_ZONES_PER_SERVICE && i < plan->zone_count; i++) {
    const struct hf_zone* zone = &plan->zones[i];
    const __u64 share = hf_limit(plan, zone);
    struct hf_key key = {0, 0, 0};
    const __u32* reserved;
    key.service = plan->service;
    key.zone = zone->zone;
    reserved = hf_reserved_at(key);
    if (!reserved || !share) continue;
    if (least_share && *reserved * least_share >= least_taken * share) continue;
    least = i;
    least_taken = *reserved;
    least_share = share;
  }
  return least;
}

HF_INLINE enum hf_verdict hf_go_beyond(const struct hf_plan* plan, struct hf_choice* choice) {
  __u32 least = hf_zone_beyond(plan);

  // The verifier must see the bound, which the compiler knows and would leave out.
  __asm__ volatile("" : "+r"(least));
  least &= HF_ZONES_PER_SERVICE - 1;
  if (least && hf_try_zone(plan, &plan->zones[least], HF_BEYOND_LIMIT, choice) == HF_CHOSEN) {
    hf_count(HF_EVENT_SPILL);
    return HF_CHOSEN;
  }
  return hf_try_zones(plan, HF_BEYOND_LIMIT, choice);
}

// The whole decision. When every backend is ejected one is tried all the same: a service that might
// answer is better than an error that is certain.
HF_INLINE enum hf_verdict hf_choose(const struct hf_plan* plan, struct hf_choice* choice) {
  enum hf_verdict verdict = hf_try_zones(plan, HF_WITHIN_LIMIT, choice);

  if (verdict == HF_ALL_FULL && plan->when_full == HF_FULL_OVERFLOW) {
    verdict = hf_go_beyond(plan, choice);
    if (verdict == HF_CHOSEN) hf_count(HF_EVENT_OVERFLOW);
  }
  if (verdict == HF_NO_BACKEND) {
    verdict = hf_try_zones(plan, HF_WHOEVER, choice);
    if (verdict == HF_CHOSEN) hf_count(HF_EVENT_PANIC);
  }
  return verdict;
}
