// SQLite, as much of it as the stores on disk need.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weft {

// One prepared statement. The database outlives it.
class Statement {
 public:
  // Parameters in the order of the statement's question marks.
  Statement& Bind(int64_t value);
  Statement& Bind(const std::string& value);
  Statement& Bind(const std::optional<int64_t>& value);
  Statement& Bind(const std::optional<std::string>& value);

  // True: there is a row, whose columns can be read until the next call.
  Result<bool> Step();
  // Of a statement without rows.
  Result<void> Run();
  int64_t Integer(int column) const;
  std::optional<int64_t> OptionalInteger(int column) const;
  std::string Text(int column) const;
  std::optional<std::string> OptionalText(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int bound_count_ = 0;
  int bind_error_ = 0;
};

// A file that survives the process's death at any moment, and the machine's: what a transaction
// that was committed has written is there, of others nothing. Whoever uses it holds its mutex.
class Database {
 public:
  // Makes the file if it is not there. Errors name it.
  static Result<std::unique_ptr<Database>> Open(const std::string& path);

  std::mutex& mutex() { return mutex_; }
  // Statements without parameters and rows, as many as there are.
  Result<void> Execute(const char* statements);
  Result<Statement> Prepare(std::string_view text);
  int64_t last_row() const;  // that was inserted
  int64_t changed_rows() const;

  // What is done while it lives is undone unless it was committed. One at a time.
  class Transaction {
   public:
    static Result<Transaction> Begin(Database& database);
    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Result<void> Commit();

   private:
    explicit Transaction(Database& database) : database_(&database) {}
    Database* database_;  // nullptr: it has ended
  };

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  std::mutex mutex_;
  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace weft
