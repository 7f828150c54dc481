/* Faults of a disk, for tests: loaded before the C library (LD_PRELOAD), it counts every call that changes something below one
   folder, from Python, Rust and C++ alike, and lets one of them go wrong.

   whence_fault(root, at, mode, log): from now on the call number `at` (from 0) below `root`
     mode 0  is counted only
     mode 1  fails: no space left on device, or an input/output error where that cannot be
     mode 2  kills the process; a write is first done by half
     mode 3  fails, and so does every later call that needs space: the disk stays full
   Each call is told to the file descriptor `log`, one line for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static long at = -1, count;
static int mode, logged = -1;
static char ours[4096]; /* file descriptors that were opened for writing below root */

void whence_fault(const char *folder, long number, int how, int log_to) {
  strncpy(root, folder, sizeof root - 1);
  root_length = strlen(root);
  at = number; mode = how; logged = log_to; count = 0;
}

static int below(int folder, const char *path) {
  char whole[2 * PATH_MAX];
  if (!root_length || !path) return 0;
  if (path[0] == '/') return strncmp(path, root, root_length) == 0;
  if (folder == AT_FDCWD) { if (!getcwd(whole, PATH_MAX)) return 0; }
  else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, whole, PATH_MAX - 1);
    if (n < 0) return 0;
    whole[n] = 0;
  }
  return strncmp(whole, root, root_length) == 0;
}

/* 0: go on; otherwise the error to report */
static int turn(const char *what, const char *path, int needs_space, int file, const void *bytes, size_t size) {
  long here = count++;
  if (logged >= 0) {
    char line[PATH_MAX + 64];
    int n = snprintf(line, sizeof line, "%s %s\n", what, path ? path : "");
    syscall(SYS_write, logged, line, n);
  }
  if (mode == 3 && here > at && needs_space) return ENOSPC;
  if (here != at || mode == 0) return 0;
  if (mode == 2) {
    if (size > 1) syscall(SYS_write, file, bytes, size / 2);
    syscall(SYS_exit_group, 137);
  }
  return needs_space ? ENOSPC : EIO;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define TURN(what, path, space) do { int error = turn(what, path, space, -1, 0, 0); if (error) { errno = error; return -1; } } while (0)

static int opened(int file, int counts) {
  if (file >= 0 && file < (int)sizeof ours) ours[file] = (char)counts;
  return file;
}

#define OPEN(name, ...) \
  { \
    va_list list; va_start(list, flags); mode_t rights = va_arg(list, mode_t); va_end(list); \
    REAL(name); \
    int counts = (flags & (O_WRONLY | O_RDWR | O_CREAT)) && below(FOLDER, path); \
    if (counts) TURN("open", path, 1); \
    return opened(real(__VA_ARGS__, flags, rights), counts); \
  }
#define FOLDER AT_FDCWD
int open(const char *path, int flags, ...) OPEN(open, path)
int open64(const char *path, int flags, ...) OPEN(open64, path)
#undef FOLDER
#define FOLDER folder
int openat(int folder, const char *path, int flags, ...) OPEN(openat, folder, path)
int openat64(int folder, const char *path, int flags, ...) OPEN(openat64, folder, path)

int close(int file) { REAL(close); opened(file, 0); return real(file); }

static int counted(int file) { return file >= 0 && file < (int)sizeof ours && ours[file]; }

ssize_t write(int file, const void *bytes, size_t size) {
  REAL(write);
  if (counted(file)) { int error = turn("write", "", 1, file, bytes, size); if (error) { errno = error; return -1; } }
  return real(file, bytes, size);
}
ssize_t writev(int file, const struct iovec *parts, int n) {
  REAL(writev);
  if (counted(file)) TURN("writev", "", 1);
  return real(file, parts, n);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t where) {
  REAL(pwrite);
  if (counted(file)) TURN("pwrite", "", 1);
  return real(file, bytes, size, where);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t where) {
  REAL(pwrite64);
  if (counted(file)) TURN("pwrite", "", 1);
  return real(file, bytes, size, where);
}
int ftruncate(int file, off_t size) { REAL(ftruncate); if (counted(file)) TURN("truncate", "", 0); return real(file, size); }
int ftruncate64(int file, off64_t size) { REAL(ftruncate64); if (counted(file)) TURN("truncate", "", 0); return real(file, size); }
int fchmod(int file, mode_t rights) { REAL(fchmod); if (counted(file)) TURN("chmod", "", 0); return real(file, rights); }

static int fsync_counts(int file) { /* of folders and of files that were opened to read, too */
  char link[64], whole[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t n = readlink(link, whole, sizeof whole - 1);
  if (n < 0) return 0;
  whole[n] = 0;
  return below(AT_FDCWD, whole);
}
int fsync(int file) { REAL(fsync); if (fsync_counts(file)) TURN("fsync", "", 0); return real(file); }
int fdatasync(int file) { REAL(fdatasync); if (fsync_counts(file)) TURN("fsync", "", 0); return real(file); }

#define PATHS(name, what, space) \
  int name(const char *path) { REAL(name); if (below(AT_FDCWD, path)) TURN(what, path, space); return real(path); }
PATHS(unlink, "unlink", 0)
PATHS(rmdir, "rmdir", 0)
int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat);
  if (below(folder, path)) TURN("unlink", path, 0);
  return real(folder, path, flags);
}
int mkdir(const char *path, mode_t rights) {
  REAL(mkdir);
  if (below(AT_FDCWD, path)) TURN("mkdir", path, 1);
  return real(path, rights);
}
int mkdirat(int folder, const char *path, mode_t rights) {
  REAL(mkdirat);
  if (below(folder, path)) TURN("mkdir", path, 1);
  return real(folder, path, rights);
}
int chmod(const char *path, mode_t rights) {
  REAL(chmod);
  if (below(AT_FDCWD, path)) TURN("chmod", path, 0);
  return real(path, rights);
}
int rename(const char *from, const char *to) {
  REAL(rename);
  if (below(AT_FDCWD, to)) TURN("rename", to, 1);
  return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
  REAL(renameat);
  if (below(b, to)) TURN("rename", to, 1);
  return real(a, from, b, to);
}
