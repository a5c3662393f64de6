#include "probe/h2_exchange.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace holdfast::probe {
namespace {

using std::string_view;

constexpr int kMaxInterim = 5;

string_view view(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv pair_of(const Header& header) {
  const auto bytes = [](const std::string& text) {
    // nghttp2 takes copies and changes nothing, whatever its types say.
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(header.name), bytes(header.value), header.name.size(), header.value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

struct FreeSession {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};

}  // namespace

struct H2Exchange::State {
  void on_header(string_view name, string_view value) {
    if (value.size() > kMaxH2HeaderBytes) return;
    if (name == ":status") std::from_chars(value.data(), value.data() + value.size(), status);
    if (name == "location" && answer.location.empty()) answer.location = value;
    if (name == "content-type") answer.content_type = value;
    if (name == "grpc-status") answer.grpc_status = value;
  }
  // False if there are too many of those that only announce another.
  bool on_head() {
    if (answer.status != 0) return true;  // trailers
    const bool interim = status >= 100 && status < 200;
    if (!interim) {
      answer.status = status;
      return true;
    }
    answer = {};
    interims += 1;
    return interims <= kMaxInterim;
  }
  void on_data(string_view bytes) {
    answer.body_bytes += bytes.size();
    const size_t room = kKeptBodyBytes - std::min(kKeptBodyBytes, answer.body.size());
    answer.body.append(bytes.substr(0, room));
  }
  void open();
  void ask(const H2Request& request);

  std::unique_ptr<nghttp2_session, FreeSession> session{};
  std::string body{};
  size_t body_sent = 0;
  H2Answer answer{};
  int status = 0;
  int interims = 0;
  bool peer_ready = false;
  bool closed = false;
  uint32_t why_closed = 0;
};

// nghttp2 calls back with the state; what is not 0 ends the session.
void H2Exchange::State::open() {
  nghttp2_session_callbacks* calls = nullptr;
  HF_CHECK(nghttp2_session_callbacks_new(&calls) == 0, "nghttp2 has memory");
  nghttp2_session_callbacks_set_on_header_callback(
      calls, [](nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t name_size,
                const uint8_t* value, size_t value_size, uint8_t, void* state) {
        static_cast<State*>(state)->on_header(view(name, name_size), view(value, value_size));
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      calls, [](nghttp2_session*, const nghttp2_frame* frame, void* data) {
        auto& state = *static_cast<State*>(data);
        if (frame->hd.type == NGHTTP2_SETTINGS) state.peer_ready = true;
        if (frame->hd.type != NGHTTP2_HEADERS) return 0;
        return state.on_head() ? 0 : int{NGHTTP2_ERR_CALLBACK_FAILURE};
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      calls,
      [](nghttp2_session*, uint8_t, int32_t, const uint8_t* bytes, size_t size, void* state) {
        static_cast<State*>(state)->on_data(view(bytes, size));
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      calls, [](nghttp2_session*, int32_t, uint32_t why, void* data) {
        auto& state = *static_cast<State*>(data);
        state.closed = true;
        state.why_closed = why;
        state.answer.ended = why == NGHTTP2_NO_ERROR && state.answer.status != 0;
        return 0;
      });
  nghttp2_session* made = nullptr;
  const int outcome = nghttp2_session_client_new(&made, calls, this);
  nghttp2_session_callbacks_del(calls);
  HF_CHECK(outcome == 0, "nghttp2 has memory");
  session.reset(made);
}

void H2Exchange::State::ask(const H2Request& request) {
  constexpr nghttp2_settings_entry kSettings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                  {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0}};
  nghttp2_submit_settings(session.get(), NGHTTP2_FLAG_NONE, kSettings, std::size(kSettings));
  std::vector<nghttp2_nv> pairs;
  for (const Header& header : request.headers) pairs.push_back(pair_of(header));
  nghttp2_data_provider provider = {};
  provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* into, size_t room,
                              uint32_t* flags, nghttp2_data_source*, void* data) {
    auto& state = *static_cast<State*>(data);
    const size_t count = std::min(room, state.body.size() - state.body_sent);
    std::copy_n(state.body.data() + state.body_sent, count, into);
    state.body_sent += count;
    if (state.body_sent == state.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  };
  const int32_t stream = nghttp2_submit_request(session.get(), nullptr, pairs.data(), pairs.size(),
                                                body.empty() ? nullptr : &provider, nullptr);
  HF_CHECK(stream > 0, "nghttp2 has memory");
}

H2Exchange::H2Exchange(H2Request request) : state_(std::make_unique<State>()) {
  state_->body = std::move(request.body);
  state_->open();
  state_->ask(request);
}

H2Exchange::~H2Exchange() = default;

std::string H2Exchange::output() {
  std::string out;
  for (;;) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(state_->session.get(), &bytes);
    if (size <= 0) return out;
    out.append(view(bytes, static_cast<size_t>(size)));
  }
}

Status H2Exchange::put(string_view bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      state_->session.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) {
    return absl::DataLossError(
        fmt::format("no HTTP/2: {}", nghttp2_strerror(static_cast<int>(taken))));
  }
  if (state_->closed && !state_->answer.ended) {
    return absl::UnavailableError(
        fmt::format("the request was reset: {}", nghttp2_http2_strerror(state_->why_closed)));
  }
  return absl::OkStatus();
}

bool H2Exchange::peer_ready() const {
  return state_->peer_ready;
}

const H2Answer& H2Exchange::answer() const {
  return state_->answer;
}

}  // namespace holdfast::probe
