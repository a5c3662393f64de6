// What a Link is made of; nobody else's. Everything happens in handlers of the loop: bytes came,
// there is room again, time has passed, or work that was put off. Ends only note what they want
// (ready, room) and are served by the next work(), so no end is ever called from within a call of
// its own, nor destroyed there.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tunnel/link_service.h"
#include "tunnel/secure_connection_service.h"
#include "tunnel/tls_pipe_service.h"

namespace holdfast::tunnel {

class Link::State {
 public:
  State(Link& link, Parts parts, std::unique_ptr<SecureConnection> connection, LinkOptions options);
  ~State();

  asio::awaitable<Status> run();
  void close(Status why);
  // close(); whoever reads slowly is not waited for any more.
  void give_up(Status why);

  asio::awaitable<Status> open(std::string payload, std::unique_ptr<StreamEnd>& end,
                               Duration timeout);
  void accept(StreamId stream, std::unique_ptr<StreamEnd> end);
  void reset(StreamId stream, ResetCode code, std::string_view why);
  Status send(std::string_view message);
  void say_goodbye(std::string_view why);
  void ready(StreamId stream);
  void room(StreamId stream);
  void woken(StreamId stream);
  void set_keepalive(Duration interval, uint32_t misses);

  const Session& session() const { return session_; }
  const SecureConnection& connection() const { return *connection_; }

 private:
  // Someone who waits in open().
  struct Waiter {
    asio::steady_timer done;
    std::unique_ptr<StreamEnd>* end;
    std::optional<Status> outcome{};
  };
  struct Stream {
    explicit Stream(LinkBuffers& buffers) : kept_bytes(buffers) {}
    std::unique_ptr<StreamEnd> end{};  // absent until it is accepted
    Waiter* waiter = nullptr;          // until then, of the opener
    LinkBuffers::Kept kept_bytes;
    std::string kept{};  // came and was not taken yet: at most the window
    size_t kept_from = 0;
    bool end_came = false;  // from the peer
    bool end_told = false;  // and to the end, after all that came before
    bool end_sent = false;
  };
  using Streams = std::unordered_map<StreamId, std::unique_ptr<Stream>>;

  // The connection (link_service.cc).
  template <typename Handler>
  auto counted(Handler handler);
  void wait_to_read();
  void wait_to_write();
  void receive();
  void receive_rest();  // whatever the peer said before its connection broke
  // Returns how many events there were; data of a stream in a row is one.
  size_t understand(std::string_view bytes);
  void arm_timer();
  void on_time();
  asio::awaitable<Status> part();
  asio::awaitable<void> flush();

  // Sending (link_output_service.cc).
  void schedule_work();
  void work();
  void make_room();
  void write_batch();
  size_t fill(std::span<char> out);
  size_t take_turn(const Session::Turn& turn, std::span<char> out);
  bool write(std::span<const char> bytes);
  void on_writable();

  // Streams (link_streams_service.cc).
  void on_event(const Event& event);
  // Data of one stream in a row; how many events it took.
  size_t on_data(std::span<const Event> events);
  void take_data(StreamId id, Stream& stream, std::span<const std::string_view> parts);
  void on_accepted(StreamId id);
  void on_end(StreamId id);
  void on_reset(const ResetCame& reset);
  void attach(StreamId id, Stream& stream, std::unique_ptr<StreamEnd> end);
  void push_kept(StreamId id, Stream& stream);
  void trim(Stream& stream);
  void count_kept(Stream& stream);
  void end_if_over(StreamId id, Stream& stream);
  void break_stream(StreamId id, std::string_view why, ResetCode code = ResetCode::Broken);
  void drop_streams(const Status& why);
  // Those that need no tunnel any more: all that is missing is someone who reads.
  Streams take_whole();
  Stream* find(StreamId id);

  Link& link_;
  Parts parts_;
  LinkOptions options_;
  std::unique_ptr<SecureConnection> connection_;
  TlsPipe pipe_;
  Session session_;
  Streams streams_;
  std::vector<StreamId> ready_;  // since the last work()
  std::vector<StreamId> room_;
  std::vector<std::unique_ptr<StreamEnd>> buried_;  // destroyed by the next work()

  asio::steady_timer over_;   // cancelled when run() has something to look at
  asio::steady_timer timer_;  // keepalives and the write timeout
  Time timer_at_{};
  Time blocked_since_{};  // nothing could be written since
  Time now_{};            // of what is being handled
  Time wrote_{};          // a batch, last
  std::optional<Status> outcome_;
  size_t handlers_ = 0;  // of the loop, that will call us
  size_t batch_bytes_;   // of data, in the next batch
  size_t most_read_;     // in one turn
  bool running_ = false;
  bool timer_armed_ = false;
  bool waits_to_read_ = false;
  bool waits_to_write_ = false;
  bool work_scheduled_ = false;
  bool gathers_ = false;       // several streams had something, last
  bool more_to_read_ = false;  // and nothing will wake us for it
  bool peer_leaves_ = false;
  bool peer_closed_ = false;
  bool given_up_ = false;
};

}  // namespace holdfast::tunnel
