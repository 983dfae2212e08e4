#include "server/batches/database.h"

#include <sqlite3.h>
#include <utility>

namespace weft {
namespace {

tl::unexpected<Error> SqliteFailure(sqlite3* database) {
  const char* const path = sqlite3_db_filename(database, nullptr);
  const bool is_full = sqlite3_errcode(database) == SQLITE_FULL;
  return Fail(is_full ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, "{}: {}",
              path == nullptr ? "the database" : path, sqlite3_errmsg(database));
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::Bind(int64_t value) {
  bind_error_ |= sqlite3_bind_int64(statement_.get(), ++bound_count_, value);
  return *this;
}

Statement& Statement::Bind(const std::string& value) {
  bind_error_ |= sqlite3_bind_text64(statement_.get(), ++bound_count_, value.data(), value.size(),
                                     SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::Bind(const std::optional<int64_t>& value) {
  if (value) return Bind(*value);
  ++bound_count_;  // null is what a parameter is at first
  return *this;
}

Statement& Statement::Bind(const std::optional<std::string>& value) {
  if (value) return Bind(*value);
  ++bound_count_;
  return *this;
}

Result<bool> Statement::Step() {
  const int status = bind_error_ == SQLITE_OK ? sqlite3_step(statement_.get()) : bind_error_;
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  return SqliteFailure(sqlite3_db_handle(statement_.get()));
}

Result<void> Statement::Run() {
  WEFT_ASSIGN_OR_RETURN(const bool has_row, Step());
  static_cast<void>(has_row);
  return {};
}

int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<int64_t> Statement::OptionalInteger(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return Integer(column);
}

std::string Statement::Text(int column) const {
  const void* const text = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(static_cast<const char*>(text), size);
}

std::optional<std::string> Statement::OptionalText(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return Text(column);
}

void Database::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                         SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &opened, kFlags, nullptr);
  auto database = std::make_unique<Database>();
  database->database_.reset(opened);
  if (status != SQLITE_OK) {
    return Fail(ErrorCode::kInternal, "{}: cannot open the database: {}", path,
                sqlite3_errstr(status));
  }
  // FULL: a commit is on the disk before it is answered.
  WEFT_RETURN_IF_ERROR(database->Execute(
      "PRAGMA auto_vacuum=FULL; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
      "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"));
  return database;
}

Result<void> Database::Execute(const char* statements) {
  const int status = sqlite3_exec(database_.get(), statements, nullptr, nullptr, nullptr);
  if (status == SQLITE_OK) return {};
  return SqliteFailure(database_.get());
}

Result<Statement> Database::Prepare(std::string_view text) {
  sqlite3_stmt* prepared = nullptr;
  const int status = sqlite3_prepare_v2(database_.get(), text.data(), static_cast<int>(text.size()),
                                        &prepared, nullptr);
  Statement statement;
  statement.statement_.reset(prepared);
  if (status != SQLITE_OK) return SqliteFailure(database_.get());
  return statement;
}

int64_t Database::last_row() const { return sqlite3_last_insert_rowid(database_.get()); }

int64_t Database::changed_rows() const { return sqlite3_changes64(database_.get()); }

Result<Database::Transaction> Database::Transaction::Begin(Database& database) {
  WEFT_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Database::Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->Execute("ROLLBACK"));
}

Result<void> Database::Transaction::Commit() {
  WEFT_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace weft
