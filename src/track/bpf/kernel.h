// The few fields of the kernel's own structures that the programs read. Their offsets are found
// when the programs are loaded (CO-RE), so the machine that builds needs no kernel of any version.
#pragma once

#include <linux/types.h>

#define HF_RELOCATED __attribute__((preserve_access_index))

struct sock_common {
  unsigned char skc_state;
} HF_RELOCATED;

struct sock {
  struct sock_common __sk_common;
  int sk_err;
} HF_RELOCATED;

struct inet_sock {
  struct sock sk;
} HF_RELOCATED;

struct inet_connection_sock {
  struct inet_sock icsk_inet;
} HF_RELOCATED;

struct tcp_sock {
  struct inet_connection_sock inet_conn;
} HF_RELOCATED;

struct seq_file;
struct bpf_map;

struct bpf_iter_meta {
  struct seq_file* seq;
} HF_RELOCATED;

struct bpf_iter__bpf_sk_storage_map {
  struct bpf_iter_meta* meta;
  struct bpf_map* map;
  struct sock* sk;
  void* value;
} HF_RELOCATED;
