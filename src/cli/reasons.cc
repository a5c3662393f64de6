#include "cli/reasons.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

// code, title, what it means, what to do. HF2nnn are in reasons_tunnel.cc, HF4nnn in
// reasons_pair.cc, HF7nnn in reasons_probe.cc.
constexpr ReasonInfo kReasons[] = {
    {"HF1001", "no controller reached",
     "Nothing answers at the address, or the network does not let us through.",
     "start a controller with `holdfastd controller`, or name another with --server"},
    {"HF1002", "no answer in time",
     "The controller was asked and did not answer. A write may have happened.",
     "wait longer with --timeout; look with `holdfast get` before you write again"},
    {"HF1003", "cancelled", "The call was stopped before it ended.", "run it again"},
    {"HF1004", "output not written",
     "Standard output could not take what was printed. What was done is done.",
     "make room where the output goes, then look again"},
    {"HF1020", "a limit held",
     "A disk is full, there are too many calls or watchers, or a watcher was too slow.",
     "free what is full, or try again later; resume a watch with --after"},
    {"HF1021", "the controller cannot do it now",
     "It is there, but stopping, or cannot use its disk or etcd.",
     "read its log; after \"outcome unknown\" look with `holdfast get`"},
    {"HF1030", "the controller is not healthy",
     "At least one of its components has failed or has not recovered long enough.",
     "see which with `holdfast status`, and the reason in its log"},
    {"HF1040", "controllers offline",
     "Controllers that announced themselves have not been heard of for longer than their TTL.",
     "see which with `holdfast get controllers`; start them, or delete what is gone for good"},
    {"HF1041", "proxies offline",
     "Proxies that announced themselves have not been heard of for longer than their TTL.",
     "see which with `holdfast get proxies`; start them, or delete what is gone for good"},
    {"HF1042", "agents offline",
     "Agents that announced themselves have not been heard of for longer than their TTL.",
     "see which with `holdfast get agents`; start them, or delete what is gone for good"},
    {"HF1043", "no proxy takes tunnels",
     "There are agents, but every proxy is offline or leaves: nobody can reach their services.",
     "start a proxy (`holdfastd proxy`), or see `holdfast get proxies`"},
    {"HF1044", "agents without a tunnel",
     "They announce themselves to the controller, but no proxy holds a tunnel of theirs.",
     "see why with `holdfast get tunnels`, and the agent's log"},
    {"HF1045", "a service that nobody carries",
     "No agent that exposes it, is selected by it and can be reached is there.",
     "see `holdfast describe service NAME`; expose it with agent.services on some agent"},
    {"HF1046", "services that are not healthy",
     "Checks of agents find that applications do not work; nobody is sent to them there.",
     "see which and why with `holdfast get agents -o wide`; mend the application or its check"},
    {"HF1047", "a zone that nobody knows",
     "The zone map does not list it, and no proxy or agent is in it. A capacity that a service has "
     "for it limits nothing, and zones without one have no limit.",
     "see which there are with `holdfast get zones`; correct the name, or list it in the zone map"},
    {"HF1048", "a divergence waits for a decision",
     "A half of the pair had written what the other had not when that took over; it is kept in a "
     "file on that half until somebody looks at it.",
     "look with `holdfast ha divergence`, then `replay` or `discard` it"},
    {"HF1099", "unexpected",
     "The controller said something this command has no words for; data loss is among it.",
     "read the controller's log"},
    {"HF1101", "the store does not answer",
     "The controller's own heartbeat could not be stored in time.",
     "look at its disk or its etcd; it recovers by itself when they do"},
    {"HF1102", "too many announcements wait",
     "More nodes announce themselves at once than the store can take.",
     "nodes try again by themselves; if it stays, use a faster disk or more controllers"},
    {"HF1103", "no controller took the announcement",
     "A node could not say in time that it is there; it will be shown as offline.",
     "see whether its controllers are reached; it tries again by itself"},
    {"HF1104", "the audit log was not whole",
     "Its last line was cut or altered. The file was moved aside and a new one begun.",
     "keep the file that was moved aside; find out who changed it"},
    {"HF1105", "the event feed starts again",
     "The controller lost its place in the store's history; watchers are told to resume.",
     "look at its store if it stays; it recovers by itself"},
    {"HF1106", "cannot listen",
     "Another program has the port, or the address is not this "
     "machine's.",
     "stop that program, or choose another address: the keys that end in `listen`, or --listen"},
    {"HF1107", "the audit log cannot be written",
     "Its file or folder does not take a line. Requests go on, and the lines lost are counted.",
     "make room in the data folder, or mend its permissions"},
    {"HF1108", "two processes with one identity",
     "Two processes announce themselves in turns by one name: its folder was copied, or a machine "
     "came back beside the one that replaced it.",
     "stop one of them; let it join with a name of its own (`holdfast token create`)"},
    {"HF1201", "the cache lost its controller",
     "The stream of changes broke. Reads are answered from the last good generation, as stale.",
     "see whether a controller is there; the node comes back by itself"},
    {"HF1202", "the controller does not offer this kind",
     "It is older than the node, or does not let it see this kind; other kinds are not affected.",
     "bring the controllers to the node's version; look at the node's role"},
    {"HF1203", "a kind could not be loaded",
     "The controller did not give all of it. The other kinds are not affected.",
     "read the reason with `holdfast get caches`; the node tries again by itself"},
    {"HF1204", "a cache has been stale for too long",
     "What it has is older than this kind may be, so reads go to a controller again.",
     "bring a controller back; until then the last good copy answers, as stale"},
    {"HF1205", "the cache is from disk",
     "The node started without a controller and answers from the copy it kept, as stale.",
     "see whether a controller is there; the node comes back by itself"},
    {"HF1206", "the cache is loading",
     "The kind has not been loaded yet, or is being loaded; reads go to a controller.", "wait"},
    {"HF1251", "the cache's copy on disk is damaged",
     "It was cut or altered. It is not used; the node asks a controller instead.",
     "look at the disk; a new copy is written by itself"},
    {"HF1252", "the cache's copy on disk is not this node's",
     "Another key sealed it, or another version or node wrote it. It is not used.",
     "nothing, if the node was replaced: a new copy is written by itself"},
    {"HF1253", "the cache's copy is too large",
     "There is more in the cache than a copy may hold, so the disk has none of it.",
     "the node works on; it cannot start without a controller"},
    {"HF1254", "the cache's copy on disk cannot be read", "A file is missing or not the node's.",
     "mend the permissions of the data folder"},
    {"HF1255", "the cache's copy cannot be written",
     "The data folder does not take it, so a restart without a controller finds an older copy.",
     "make room in the data folder, or mend its permissions"},
    {"HF1290", "a node's cache is read-only",
     "What a node serves on its own socket is a copy of what the controllers have.",
     "send the change to a controller"},
    {"HF1301", "no connection to a controller",
     "None of the addresses could be dialled in time, or the node's certificate has run out.",
     "see whether a controller is there; the node goes on trying by itself"},
    {"HF1310", "no node answers",
     "Nothing listens on the node's socket, it may not be opened, or it is another program's.",
     "see whether the node runs, and name its socket or data folder with --node"},
    {"HF5001", "not permitted", "We know who you are, and no rule of your roles allows this.",
     "see who you are with `holdfast whoami`; an admin changes roles"},
    {"HF5002", "no certificate", "Without a certificate only joining and logging in are possible.",
     "log in with `holdfast login`, or use the controller's unix socket"},
    {"HF5003", "the certificate has expired or is not valid yet",
     "Certificates are short-lived, and clocks must agree.",
     "log in again with `holdfast login`, or join again with `holdfast join --replace`; check the "
     "clock with `holdfast check`"},
    {"HF5004", "a certificate of another authority",
     "It was not signed by this cluster's authority, or is for another cluster or role.",
     "is it another cluster's? Log in or join again with the right pin"},
    {"HF5005", "the token is not valid",
     "It is unknown, mistyped, or was used as often as it may be.",
     "make a new one with `holdfast token create`"},
    {"HF5006", "the token has expired", "Tokens live 30 minutes unless asked for otherwise.",
     "make a new one with `holdfast token create`"},
    {"HF5007", "the token is for something else",
     "It was made for another name or zone than the node asks for.",
     "use the name and zone it was made for, or make another"},
    {"HF5008", "the controller could not be recognised",
     "A first contact needs something to recognise the controller by: the pin that `holdfast init` "
     "printed, or its certificates in a file. Another pin than expected means another cluster, a "
     "replaced authority, or somebody in between.",
     "compare with `holdfast init` on the controller; do not go on before they agree"},
    {"HF5009", "a secret on the command line",
     "Arguments are visible to every user of the machine in `ps`, and stay in the shell's history.",
     "give it by file, standard input or environment; consider this one known and replace it"},
    {"HF5010", "wrong user or password",
     "The user does not exist, is disabled, or the password is another.",
     "try again; an admin sets a new one with `holdfast user password NAME`"},
    {"HF5011", "too many requests", "This identity or address asks more often than it may.",
     "wait a little; spread the load"},
    {"HF5012", "the user is disabled", "An admin has locked this user out.",
     "an admin enables it with `holdfast apply`"},
    {"HF5013", "no authority yet", "The cluster has no authority, so nobody can join or log in.",
     "make one on the controller's machine with `holdfast init`"},
    {"HF5014", "another authority exists", "The cluster was made before, under another name.",
     "see it with `holdfast init` without a name; one controller serves one cluster"},
    {"HF5015", "the name is taken", "A node of this role and name has joined before.",
     "use another name, a token made for this one, or delete the old entry"},
    {"HF5016", "announce first",
     "Only a node that is online renews its certificate; this one has not announced itself.",
     "nodes do this by themselves; start `holdfastd agent` or `holdfastd proxy` on it"},
    {"HF5017", "not joined", "There is no identity in this data folder.",
     "join with `holdfast join SERVER --pin PIN --token-file FILE --name NAME`, or name the folder "
     "with --data-dir"},
    {"HF5018", "the identity cannot be used",
     "A file of the node's identity is missing or damaged, or is another role's.",
     "mend the file, start the right role, or join again with --replace"},
    {"HF5020", "the rotation is in another phase",
     "The step that was asked for does not follow the phase the authority is in.",
     "see the phase with `holdfast rotate status`"},
    {"HF5021", "the step would cut nodes off",
     "Some nodes do not trust the new authority yet, or still use a certificate of the old one.",
     "wait until they have renewed, or go on with --cut-off-laggards"},
    {"HF5030", "your certificate runs out soon", "It is valid for less than 6 hours.",
     "log in again with `holdfast login`; nodes renew by themselves if they reach a controller"},
    {"HF5031", "clocks disagree",
     "This machine and the controller differ by more than 2 s. Certificates and tokens are valid "
     "between two times, so both must know what time it is.",
     "run a time service (chrony, systemd-timesyncd) on both"},
    {"HF5032", "the authority runs out soon",
     "Its certificate is valid for less than 30 days; after that nobody can connect.",
     "replace it with `holdfast rotate start`"},
    {"HF5033", "a rotation stands still",
     "The authority has been in one phase of a rotation for more than two days.",
     "see who has not followed with `holdfast rotate status`, then `holdfast rotate next`"},
    {"HF5034", "a token that never expires", "Whoever finds it can join for ever.",
     "revoke it with `holdfast token revoke NAME`"},
    {"HF5035", "not logged in",
     "A controller over the network needs a certificate, and there is no profile with one.",
     "log in with `holdfast login --user NAME SERVER --pin PIN`"},
    {"HF5036", "the profile cannot be used",
     "One of its files is missing or is not what it "
     "should be.",
     "log in again, or name another folder with --profile"},
    {"HF5038", "no secret given", "The command needs a token or a password.",
     "give it by file, standard input or environment"},
    {"HF5039", "already joined", "There is an identity in this data folder.",
     "join with --replace to throw it away, or use another --data-dir"},
    {"HF6001", "the file cannot be read", "It is not there, not readable, or holds nothing.",
     "name a readable file with -f"},
    {"HF6002", "not YAML or JSON", "Or a form that is refused, such as anchors and tags.",
     "correct the line shown"},
    {"HF6003", "too large",
     "4 MiB of input, 1 MiB a document, 10,000 documents and 32 levels are the limits.",
     "split the input"},
    {"HF6004", "an unknown field", "Usually misspelt; nothing is ignored in silence.",
     "use the spelling it suggests"},
    {"HF6005", "a value of the wrong type or form", "As a word where a number belongs.",
     "correct the value shown"},
    {"HF6006", "a key given twice", "One of the two would be lost.", "remove one"},
    {"HF6010", "not valid", "An address, kind, selector, name or resource that cannot be.",
     "correct it; nothing was changed"},
    {"HF6011", "unknown to the controller", "It does not know the kind or the call.",
     "the controller may be older than this command"},
    {"HF6020", "not there", "There is no resource of this kind and name.",
     "list what there is with `holdfast get KIND`"},
    {"HF6021", "already there", "Someone made it before.", "look at it with `holdfast get`"},
    {"HF6022", "changed meanwhile", "It is no longer at the revision that was read.",
     "read it again with `holdfast get`, then retry"},
    {"HF6023", "not in the history", "A watch's revision is no longer kept, or is of the future.",
     "list, then watch from there"},
    {"HF6024", "the request id was used for another request",
     "A write is known by its id for ten minutes; one id stands for one request of one caller.",
     "use a new id for each write, and the same one only to send it again"},
    {"HF6030", "not HTTP/1.0 or HTTP/1.1",
     "The request is not well-formed (400), or is of another version (505).",
     "correct the client; have it speak HTTP/1.1"},
    {"HF6031", "the header is too large", "A request's header has a limit.", "send less"},
    {"HF6032", "the body is too large", "A request's body has a limit.", "send less"},
    {"HF6034", "nothing at this path", "There is no such path, kind or component.",
     "see the API's documentation; the API is served over TLS and the unix socket"},
    {"HF6035", "no such method here", "The path is known, the method is not.",
     "use one that the Allow header names"},
    {"HF6036", "an unknown content type", "A resource is read as JSON or YAML.",
     "send Content-Type application/json or application/yaml"},
};

// Two spaces in, and no line longer than a terminal is wide.
std::string wrapped(std::string_view text) {
  constexpr size_t kWidth = 78;
  std::string out;
  while (!text.empty()) {
    size_t end = text.size() <= kWidth ? text.size() : text.rfind(' ', kWidth);
    if (end == std::string_view::npos) end = text.size();
    out += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::vector<ReasonInfo> all_reasons() {
  std::vector<ReasonInfo> all(std::begin(kReasons), std::end(kReasons));
  all.insert(all.end(), tunnel_reasons().begin(), tunnel_reasons().end());
  all.insert(all.end(), pair_reasons().begin(), pair_reasons().end());
  all.insert(all.end(), probe_reasons().begin(), probe_reasons().end());
  all.insert(all.end(), track_reasons().begin(), track_reasons().end());
  std::ranges::sort(all, {}, &ReasonInfo::code);
  return all;
}

const ReasonInfo* find_reason(std::string_view code) {
  if (code.starts_with("HF") || code.starts_with("hf")) code.remove_prefix(2);
  for (const std::span<const ReasonInfo> rows :
       {std::span<const ReasonInfo>(kReasons), tunnel_reasons(), pair_reasons(), probe_reasons(),
        track_reasons()}) {
    const auto found = std::ranges::find_if(
        rows, [&](const ReasonInfo& reason) { return reason.code.substr(2) == code; });
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

std::string to_text(const ReasonInfo& reason) {
  return fmt::format("{}: {}\n\n{}\n{}", reason.code, reason.title, wrapped(reason.meaning),
                     wrapped(fmt::format("next: {}", reason.next)));
}

}  // namespace holdfast::cli
