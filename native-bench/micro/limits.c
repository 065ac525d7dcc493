/*
 * What this machine can do with a text at most. Reads commands from its input, a line each, works on the file that it
 * was started with, and answers each with `NANOSECONDS RESULT`:
 *
 *   read         adds the file up as words; RESULT is the number of bytes
 *   copy         copies the file into one buffer again and again; the number of bytes
 *   sums         takes each byte as a difference and writes the sums as words; the number of sums
 *   byte HEX     finds each such byte with memchr; how many
 *   find HEX     finds the string with memmem, without overlap; how many
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { blockBytes = 128 * 1024, needleBytesMax = 256 };

static const uint8_t *text;
static size_t textBytes;
static uint8_t needle[needleBytesMax];
static size_t needleBytes;
static uint8_t copied[blockBytes];
static uint32_t sums[blockBytes / 4];

static size_t readAll(void) {
  const uint64_t *words = (const uint64_t *)text;
  static volatile uint64_t kept;
  uint64_t sum = 0;
  for (size_t i = 0; i < textBytes / 8; i++) sum += words[i];
  kept = sum;
  return textBytes;
}

static size_t copyAll(void) {
  for (size_t at = 0; at < textBytes; at += blockBytes) {
    memcpy(copied, text + at, textBytes - at < blockBytes ? textBytes - at : blockBytes);
    __asm__ volatile("" : : "r"(copied) : "memory");
  }
  return textBytes;
}

static size_t sumAll(void) {
  const size_t room = sizeof sums / sizeof sums[0];
  uint32_t sum = 0;
  for (size_t at = 0; at < textBytes; at += room) {
    size_t count = textBytes - at < room ? textBytes - at : room;
    for (size_t i = 0; i < count; i++) sums[i] = sum += text[at + i];
    __asm__ volatile("" : : "r"(sums) : "memory");
  }
  return textBytes;
}

static size_t findByte(void) {
  size_t count = 0;
  const uint8_t *end = text + textBytes, *at = text;
  while ((at = memchr(at, needle[0], (size_t)(end - at))) != NULL) {
    count++;
    at++;
  }
  return count;
}

static size_t findString(void) {
  size_t count = 0;
  const uint8_t *end = text + textBytes, *at = text;
  while ((at = memmem(at, (size_t)(end - at), needle, needleBytes)) != NULL) {
    count++;
    at += needleBytes;
  }
  return count;
}

static void readNeedle(const char *hex) {
  unsigned byte;
  for (needleBytes = 0; needleBytes < needleBytesMax && sscanf(hex, "%2x", &byte) == 1; hex += 2) {
    needle[needleBytes++] = (uint8_t)byte;
  }
}

static size_t run(const char *command) {
  if (strcmp(command, "read") == 0) return readAll();
  if (strcmp(command, "copy") == 0) return copyAll();
  if (strcmp(command, "sums") == 0) return sumAll();
  if (strcmp(command, "byte") == 0) return findByte();
  if (strcmp(command, "find") == 0) return findString();
  exit(2);
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int count, char **arguments) {
  struct stat status;
  int file = count == 2 ? open(arguments[1], O_RDONLY) : -1;
  if (file < 0 || fstat(file, &status) != 0) return 1;
  textBytes = (size_t)status.st_size;
  text = mmap(NULL, textBytes, PROT_READ, MAP_SHARED, file, 0);
  if (text == MAP_FAILED) return 1;
  char line[2 * needleBytesMax + 16], command[8], hex[2 * needleBytesMax + 1];
  while (fgets(line, sizeof line, stdin) != NULL) {
    hex[0] = 0;
    if (sscanf(line, "%7s %512s", command, hex) < 1) return 2;
    readNeedle(hex);
    int64_t from = nanoseconds();
    size_t result = run(command);
    printf("%lld %zu\n", (long long)(nanoseconds() - from), result);
    fflush(stdout);
  }
  return 0;
}
