// How the SQLite store's coroutines use its threads.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "store/store.h"

namespace holdfast::store {

// Runs `work` on `pool` and resumes the caller on its own executor with the answer.
template <typename T, typename Work>
asio::awaitable<T> run_on(asio::thread_pool& pool, Work work) {
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(T)>(
      [&pool](auto handler, Work body) {
        auto executor = asio::get_associated_executor(handler);
        asio::post(pool, [handler = std::move(handler), body = std::move(body),
                          guard = asio::make_work_guard(executor)]() mutable {
          T answer = body();
          asio::post(guard.get_executor(),
                     [handler = std::move(handler), answer = std::move(answer)]() mutable {
                       std::move(handler)(std::move(answer));
                     });
        });
      },
      asio::use_awaitable, std::move(work));
}

}  // namespace holdfast::store
