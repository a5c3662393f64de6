// Connections to service VIPs: translated to a backend when they are made, and counted from the
// first packet to the last. Attached to one cgroup; every socket made in it passes here, whatever
// becomes of its process. See src/track/README.md for the state machine and why each hook is needed.
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "track/bpf/flows.h"
#include "track/bpf/kernel.h"

#define HF_STATE_ESTABLISHED 1  // of UDP: connected
#define HF_STATE_FIN_WAIT2 5
#define HF_STATE_CLOSE 7
#define HF_MAPPED 0xffff0000u  // the third word of ::ffff:a.b.c.d in network order, read as a number

char _license[] SEC("license") = "Dual MIT/GPL";

// ---- where a call goes, in both families ----

struct hf_peer {
  struct hf_address address;
  __u16 port;
};

HF_INLINE void hf_read4(const struct bpf_sock_addr* ctx, struct hf_peer* peer) {
  peer->address.words[0] = 0;
  peer->address.words[1] = 0;
  peer->address.words[2] = HF_MAPPED;
  peer->address.words[3] = ctx->user_ip4;
  peer->port = (__u16)ctx->user_port;
}

HF_INLINE void hf_read6(const struct bpf_sock_addr* ctx, struct hf_peer* peer) {
  peer->address.words[0] = ctx->user_ip6[0];
  peer->address.words[1] = ctx->user_ip6[1];
  peer->address.words[2] = ctx->user_ip6[2];
  peer->address.words[3] = ctx->user_ip6[3];
  peer->port = (__u16)ctx->user_port;
}

HF_INLINE void hf_write4(struct bpf_sock_addr* ctx, const struct hf_peer* peer) {
  ctx->user_ip4 = peer->address.words[3];
  ctx->user_port = peer->port;
}

HF_INLINE void hf_write6(struct bpf_sock_addr* ctx, const struct hf_peer* peer) {
  ctx->user_ip6[0] = peer->address.words[0];
  ctx->user_ip6[1] = peer->address.words[1];
  ctx->user_ip6[2] = peer->address.words[2];
  ctx->user_ip6[3] = peer->address.words[3];
  ctx->user_port = peer->port;
}

HF_INLINE struct hf_socket* hf_kept(struct bpf_sock* sk) {
  return sk ? bpf_sk_storage_get(&hf_sockets, sk, 0, 0) : 0;
}

HF_INLINE struct hf_socket* hf_keep(struct bpf_sock* sk) {
  struct hf_socket* socket =
      sk ? bpf_sk_storage_get(&hf_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : 0;

  if (socket) socket->layout = HF_LAYOUT;
  return socket;
}

HF_INLINE void hf_aim(struct hf_target* target, const struct hf_peer* peer, __u8 protocol) {
  target->vip.address = peer->address;
  target->vip.port = peer->port;
  target->vip.protocol = protocol;
  target->vip.pad = 0;
  target->slot = 0;
  target->key.pad = 0;
}

// ---- connect ----

// What an earlier attempt on this socket left: a choice that never became a SYN, or a UDP peer.
HF_INLINE void hf_end_earlier(struct hf_socket* socket, __u8 protocol) {
  socket->flags = 0;
  if (protocol == HF_TCP)
    hf_end(&socket->flows[0], 0);
  else
    hf_end_all(socket, 0);
}

// 1: connect to what `peer` says now; otherwise a negative error.
HF_INLINE int hf_connect(struct bpf_sock_addr* ctx, struct hf_peer* peer) {
  const __u32 protocol = ctx->protocol;
  struct hf_socket* socket;
  struct hf_target target;
  int resolved;

  if (protocol != HF_TCP && protocol != HF_UDP) return 0;
  socket = hf_kept(ctx->sk);
  if (socket) hf_end_earlier(socket, protocol);
  hf_aim(&target, peer, protocol);
  resolved = hf_resolve(&target);
  if (resolved <= 0) return resolved;
  peer->address = target.slot->address;
  peer->port = target.slot->port;
  if (!socket) socket = hf_keep(ctx->sk);
  // Another thread may send on a UDP socket while this one connects it.
  if (!socket || !hf_moved(&socket->flows[0], HF_FLOW_NONE, HF_FLOW_CLAIMED)) {
    hf_forget(&target);
    return 1;
  }
  hf_fill(&socket->flows[0], &target);
  if (protocol == HF_UDP)
    hf_open(&socket->flows[0], HF_FLOW_CLAIMED);
  else
    hf_moved(&socket->flows[0], HF_FLOW_CLAIMED, HF_FLOW_PICKED);
  return 1;
}

HF_INLINE int hf_refuse(int error) {
  bpf_set_retval(error);
  return 0;
}

SEC("cgroup/connect4")
int hf_connect4(struct bpf_sock_addr* ctx) {
  struct hf_peer peer;
  int done;

  hf_read4(ctx, &peer);
  done = hf_connect(ctx, &peer);
  if (done < 0) return hf_refuse(done);
  if (done) hf_write4(ctx, &peer);
  return 1;
}

SEC("cgroup/connect6")
int hf_connect6(struct bpf_sock_addr* ctx) {
  struct hf_peer peer;
  int done;

  hf_read6(ctx, &peer);
  done = hf_connect(ctx, &peer);
  if (done < 0) return hf_refuse(done);
  if (done) hf_write6(ctx, &peer);
  return 1;
}

// ---- datagrams of sockets that are not connected ----

HF_INLINE int hf_is_to(const struct hf_flow* flow, const struct hf_peer* peer) {
  return flow->state == HF_FLOW_OPEN && flow->vip_port == peer->port &&
         hf_same(&flow->vip, &peer->address);
}

// A flow keeps its backend for as long as that one is there.
HF_INLINE int hf_still_there(const struct hf_flow* flow) {
  const struct hf_health* health = hf_health_at(flow->backend);

  return health && health->generation == flow->generation;
}

HF_INLINE void hf_use(struct hf_flow* flow, struct hf_peer* peer) {
  flow->used_ns = bpf_ktime_get_coarse_ns();
  peer->address = flow->address;
  peer->port = flow->port;
}

// A free flow, claimed; the one longest unused is ended if there is none. Null if others race.
HF_INLINE struct hf_flow* hf_claim(struct hf_socket* socket) {
  __u32 oldest = 0;
  __u32 i;

  for (i = 0; i < HF_FLOWS_PER_SOCKET; i++)
    if (hf_moved(&socket->flows[i], HF_FLOW_NONE, HF_FLOW_CLAIMED)) return &socket->flows[i];
  for (i = 1; i < HF_FLOWS_PER_SOCKET; i++)
    if (socket->flows[i].used_ns < socket->flows[oldest & 3].used_ns) oldest = i;
  HF_STAT(replaced);
  hf_end(&socket->flows[oldest & 3], 0);
  if (hf_moved(&socket->flows[oldest & 3], HF_FLOW_NONE, HF_FLOW_CLAIMED))
    return &socket->flows[oldest & 3];
  return 0;
}

HF_INLINE int hf_send_new(struct bpf_sock_addr* ctx, struct hf_peer* peer) {
  struct hf_target target;
  struct hf_socket* socket;
  struct hf_flow* flow;
  int resolved;

  hf_aim(&target, peer, HF_UDP);
  resolved = hf_resolve(&target);
  if (resolved <= 0) return resolved;
  peer->address = target.slot->address;
  peer->port = target.slot->port;
  socket = hf_keep(ctx->sk);
  flow = socket ? hf_claim(socket) : 0;
  if (!flow) {
    hf_forget(&target);
    return 1;
  }
  hf_fill(flow, &target);
  hf_open(flow, HF_FLOW_CLAIMED);
  return 1;
}

HF_INLINE int hf_send(struct bpf_sock_addr* ctx, struct hf_peer* peer) {
  struct hf_socket* socket = hf_kept(ctx->sk);
  int i;

  for (i = 0; socket && i < HF_FLOWS_PER_SOCKET; i++) {
    struct hf_flow* flow = &socket->flows[i];
    if (!hf_is_to(flow, peer)) continue;
    if (hf_still_there(flow)) {
      hf_use(flow, peer);
      return 1;
    }
    hf_end(flow, 0);
  }
  return hf_send_new(ctx, peer);
}

SEC("cgroup/sendmsg4")
int hf_sendmsg4(struct bpf_sock_addr* ctx) {
  struct hf_peer peer;
  int done;

  hf_read4(ctx, &peer);
  done = hf_send(ctx, &peer);
  if (done < 0) return hf_refuse(done);
  if (done) hf_write4(ctx, &peer);
  return 1;
}

SEC("cgroup/sendmsg6")
int hf_sendmsg6(struct bpf_sock_addr* ctx) {
  struct hf_peer peer;
  int done;

  hf_read6(ctx, &peer);
  done = hf_send(ctx, &peer);
  if (done < 0) return hf_refuse(done);
  if (done) hf_write6(ctx, &peer);
  return 1;
}

// ---- the way back: programs see the VIP they asked for ----

HF_INLINE int hf_as_seen(struct bpf_sock_addr* ctx, struct hf_peer* peer) {
  struct hf_socket* socket = hf_kept(ctx->sk);
  int i;

  for (i = 0; socket && i < HF_FLOWS_PER_SOCKET; i++) {
    struct hf_flow* flow = &socket->flows[i];
    if (flow->state == HF_FLOW_NONE || flow->state == HF_FLOW_CLAIMED) continue;
    if (flow->port != peer->port || !hf_same(&flow->address, &peer->address)) continue;
    flow->used_ns = bpf_ktime_get_coarse_ns();
    peer->address = flow->vip;
    peer->port = flow->vip_port;
    return 1;
  }
  return 0;
}

HF_INLINE int hf_answer4(struct bpf_sock_addr* ctx) {
  struct hf_peer peer;

  hf_read4(ctx, &peer);
  if (hf_as_seen(ctx, &peer)) hf_write4(ctx, &peer);
  return 1;
}

HF_INLINE int hf_answer6(struct bpf_sock_addr* ctx) {
  struct hf_peer peer;

  hf_read6(ctx, &peer);
  if (hf_as_seen(ctx, &peer)) hf_write6(ctx, &peer);
  return 1;
}

SEC("cgroup/recvmsg4")
int hf_recvmsg4(struct bpf_sock_addr* ctx) { return hf_answer4(ctx); }

SEC("cgroup/recvmsg6")
int hf_recvmsg6(struct bpf_sock_addr* ctx) { return hf_answer6(ctx); }

SEC("cgroup/getpeername4")
int hf_getpeername4(struct bpf_sock_addr* ctx) { return hf_answer4(ctx); }

SEC("cgroup/getpeername6")
int hf_getpeername6(struct bpf_sock_addr* ctx) { return hf_answer6(ctx); }

// ---- the life of a TCP connection ----

HF_INLINE int hf_error_of(struct bpf_sock* sk) {
  struct tcp_sock* tcp = bpf_skc_to_tcp_sock(sk);

  return tcp ? tcp->inet_conn.icsk_inet.sk.sk_err : 0;
}

SEC("sockops")
int hf_sockops(struct bpf_sock_ops* ctx) {
  const __u32 op = ctx->op;
  struct bpf_sock* sk = ctx->sk;
  struct hf_socket* socket;
  struct hf_flow* flow;

  if (op != BPF_SOCK_OPS_TCP_CONNECT_CB && op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
      op != BPF_SOCK_OPS_STATE_CB)
    return 1;
  if (!sk) return 1;
  socket = hf_kept(sk);
  if (!socket) return 1;
  flow = &socket->flows[0];
  if (op == BPF_SOCK_OPS_TCP_CONNECT_CB) {
    if (flow->state != HF_FLOW_PICKED) return 1;
    hf_open(flow, HF_FLOW_PICKED);
    bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
  } else if (op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB) {
    if (hf_moved(flow, HF_FLOW_OPEN, HF_FLOW_ESTABLISHED))
      hf_accepted_by(flow->backend, flow->generation);
  } else if (ctx->args[1] == HF_STATE_CLOSE ||
             // The kernel may keep a socket that nobody has for as long as tcp_fin_timeout.
             (ctx->args[1] == HF_STATE_FIN_WAIT2 && socket->flags & HF_SOCKET_ORPHAN)) {
    if (flow->state != HF_FLOW_NONE) hf_end(flow, hf_error_of(sk));
  }
  return 1;
}

// The last descriptor is closed.
SEC("cgroup/sock_release")
int hf_sock_release(struct bpf_sock* ctx) {
  struct hf_socket* socket = bpf_sk_storage_get(&hf_sockets, ctx, 0, 0);
  struct hf_flow* flow;

  if (!socket) return 1;
  flow = &socket->flows[0];
  if (ctx->protocol == HF_UDP) {
    hf_end_all(socket, 0);
    return 1;
  }
  __sync_fetch_and_or(&socket->flags, HF_SOCKET_ORPHAN);
  if (flow->state == HF_FLOW_PICKED || ctx->state == HF_STATE_FIN_WAIT2) hf_end(flow, 0);
  return 1;
}

// ---- for the agent ----

HF_INLINE int hf_is_idle(const struct hf_flow* flow, __u64 now) {
  const struct hf_settings* settings = hf_settings_of();

  return settings && settings->udp_idle_ns && flow->protocol == HF_UDP &&
         now > flow->used_ns + settings->udp_idle_ns;
}

// Tells every flow that is alive, and ends those UDP flows that nobody uses.
SEC("iter/bpf_sk_storage_map")
int hf_audit(struct bpf_iter__bpf_sk_storage_map* ctx) {
  struct hf_socket* socket = ctx->value;
  const struct sock* sk = ctx->sk;
  const __u64 now = bpf_ktime_get_ns();
  int i, connected;

  if (!sk || !socket) return 0;
  connected = sk->__sk_common.skc_state == HF_STATE_ESTABLISHED;
  for (i = 0; i < HF_FLOWS_PER_SOCKET; i++) {
    struct hf_flow* flow = &socket->flows[i];
    struct hf_live live = {};
    if (flow->state == HF_FLOW_NONE || flow->state == HF_FLOW_CLAIMED) continue;
    // What a connected socket sends passes no program: its flow is in use while it is connected.
    if (!(connected && i == 0) && hf_is_idle(flow, now)) {
      hf_end(flow, 0);
      continue;
    }
    live.key = flow->key;
    live.state = flow->state;
    live.backend = flow->backend;
    live.flags = flow->flags;
    bpf_seq_write(ctx->meta->seq, &live, sizeof(live));
  }
  return 0;
}

// Adds what an audit found missing, as exactly as the other programs count: only the kernel can add
// to a value that it may be adding to at that moment.
SEC("syscall")
int hf_mend(struct hf_repair* repair) {
  struct hf_counts* counts;
  __u32* reserved;
  struct hf_key key = repair->key;

  counts = bpf_map_lookup_elem(&hf_counters, &key);
  if (counts) {
    __sync_fetch_and_add(&counts->opened, repair->opened);
    __sync_fetch_and_add(&counts->closed, repair->closed);
  }
  reserved = bpf_map_lookup_elem(&hf_reserved, &key);
  if (reserved) __sync_fetch_and_add(reserved, repair->reserved);
  return 0;
}
