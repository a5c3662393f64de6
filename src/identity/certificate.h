// Keys, requests and certificates over OpenSSL, in PEM: ECDSA P-256 throughout. Pure: the time
// comes in, nothing is read from or written to disk.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"

namespace holdfast::identity {

// What a certificate of each server names, so that clients can check the role of what they reached
// whatever its address is.
inline constexpr std::string_view kControllerServerName = "controller.holdfast";
inline constexpr std::string_view kProxyServerName = "proxy.holdfast";
// Any proxy, agent or witness may keep the pair's record.
inline constexpr std::string_view kWitnessServerName = "witness.holdfast";

struct Validity {
  WallTime not_before;
  WallTime not_after;
};

// A certificate that signs, with its key.
struct SigningKey {
  std::string certificate_pem;
  std::string private_key_pem;
};

Result<std::string> make_private_key();
// A PKCS #10 request that proves possession of the key; its subject is not used.
Result<std::string> make_request(const std::string& private_key_pem);

// A new self-signed authority for the cluster.
Result<SigningKey> make_authority(const std::string& cluster, const Validity& validity);

// A certificate with its key for a server that is no node of a cluster, such as a webhook: it has
// these DNS names and no identity. kInvalidArgument if there is none, or one is not a DNS name.
Result<SigningKey> make_server(const SigningKey& authority, const std::vector<std::string>& names,
                               const Validity& validity);

// What a server shows, and by whom its clients trust it. PEM.
struct ServerTrust {
  std::string chain_pem;  // the server's own first, then those that lead to an authority
  std::string ca_pem;
};
// Whether a client that knows only the authorities, such as an API server, believes that this is
// `host`. kInvalidArgument with the reason: for a name that it does not have, with those it has.
Status check_server(const ServerTrust& trust, const std::string& host, WallTime now);

struct CertificateSpec {
  Identity identity;
  // Host names and IP addresses others reach it by, at most 64; only of controllers and proxies,
  // which also get their server name of above, "localhost", 127.0.0.1 and ::1. None may end in
  // ".holdfast": a proxy must not be able to call itself a controller.
  std::vector<std::string> hosts{};
  Validity validity{};
};
// A certificate for the key of `request_pem`, whatever else the request says. kInvalidArgument if
// the request is not one, is too big, its signature is wrong, or its key is not ECDSA P-256 or
// P-384, Ed25519, or RSA of 2048 to 4096 bits, or a host or the identity is not one. Cut to the
// authority's own life: kFailedPrecondition if nothing is left. kDataLoss if the authority is
// damaged.
Result<std::string> issue(const SigningKey& authority, const CertificateSpec& spec,
                          const std::string& request_pem);

// "sha256:HEX" of the public key in the first certificate of `pem`.
Result<std::string> pin_of(const std::string& pem);
// How long the first certificate of `pem` is valid.
Result<Validity> validity_of(const std::string& pem);
// kInvalidArgument unless the first certificate of `pem` is for this key.
Status check_key(const std::string& pem, const std::string& private_key_pem);
// Whom the first certificate of `pem` names, unverified.
Result<Identity> identity_of(const std::string& pem);
// The hosts that the first certificate of `pem` was issued with, without those every server gets.
Result<std::vector<std::string>> hosts_of(const std::string& pem);
// Each certificate of `pem` by itself.
Result<std::vector<std::string>> split_chain(const std::string& pem);

struct Peer {
  Identity identity;
  WallTime expires;
  std::string issuer_pin;
};

// How many verified certificates are remembered; then all are forgotten, which costs time only.
inline constexpr size_t kMaxVerified = 65'536;

// Whom to believe. Verification is cached per certificate: a call costs a hash after the first.
// Only the first certificate counts: the authority signs without others in between.
class Trust {
 public:
  Trust();
  ~Trust();

  // kInvalidArgument, and no change, if any of `ca_pem` is not an authority's certificate.
  Status set(const std::string& cluster, const std::string& ca_pem);
  // Who presents this certificate (PEM, the leaf first). kUnauthenticated with HF5003 (expired or
  // not yet valid), HF5004 (of another authority or cluster, or not a certificate of ours).
  Result<Peer> verify(const std::string& chain_pem, WallTime now);
  size_t cached() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::identity
