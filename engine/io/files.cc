#include "engine/io/files.h"

namespace tailrace::io {

Result<std::string> read_file(Files& files, const std::string& path) {
  Result<File> file = files.open(path, OpenMode::read);
  if (!file) return std::unexpected(file.error());
  Result<std::uint64_t> size = files.size(*file);
  std::string content;
  Result<std::size_t> got = 0;
  if (size) {
    content.resize(*size);
    got = files.read(*file, std::as_writable_bytes(std::span(content)), 0);
  }
  files.close(*file);
  if (!size) return std::unexpected(size.error());
  if (!got) return std::unexpected(got.error());
  content.resize(*got);
  return content;
}

namespace {

Result<void> write_and_rename(Files& files, const std::string& path, std::string_view content, bool syncs) {
  const std::string temporary = path + ".tmp";
  Result<File> file = files.open(temporary, OpenMode::open_or_create);
  if (!file) return std::unexpected(file.error());
  Result<void> done = files.truncate(*file, 0);
  if (done) done = files.write(*file, as_bytes(content), 0);
  if (done && syncs) done = files.sync(*file);
  files.close(*file);
  if (done) done = files.rename(temporary, path);
  return done;
}

}  // namespace

Result<void> replace_file(Files& files, const std::string& path, std::string_view content) {
  Result<void> done = write_and_rename(files, path, content, true);
  const std::size_t slash = path.rfind('/');
  if (done) done = files.sync_directory(slash == std::string::npos ? "." : path.substr(0, slash));
  return done;
}

Result<void> write_again(Files& files, File file, std::uint64_t position) {
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  while (true) {
    const Result<std::size_t> got = files.read(file, bytes, position);
    if (!got) return std::unexpected(got.error());
    if (*got == 0) return {};
    if (Result<void> done = files.write(file, Bytes(bytes).first(*got), position); !done) return done;
    position += *got;
  }
}

Result<void> put_file(Files& files, const std::string& path, std::string_view content) {
  return write_and_rename(files, path, content, false);
}

}  // namespace tailrace::io
