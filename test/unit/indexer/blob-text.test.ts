import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import t from "tap";
import { textOfBlob } from "../../../src/indexer/encoding/blob-text.js";

const iconv = (text: string | Buffer, from: string, to: string): Buffer =>
  spawnSync("iconv", ["-f", from, "-t", to], { input: text }).stdout;

const source = "int main(void)\n{\n  return 0;\n}\n";
const comments = {
  japanese: "// 設定ファイルを読み込みます。エラーの場合は例外を投げる\r\n",
  simplified: "// 读取配置文件，如果没有找到则返回默认的值\r\n",
  traditional: "// 讀取設定檔案，如果沒有找到則傳回預設的值\r\n",
  korean: "// 설정 파일을 읽고 오류가 있으면 예외를 발생시킨다\r\n",
  french: "// Où est la forêt ? Le système a été arrêté à côté de la fenêtre.\r\n",
  german: "/* Prüft die Größe der Straße – höchstens 5 €. © Jürgen Müller */\r\n",
  spanish: "// ¿Qué hace el niño? ¡Mañana será otro día!\n",
  danish: "// Læser blåbærgrød på søen, Jørgen Sørensen\n",
  portuguese: "// Não é possível abrir a configuração das opções\n",
  english: "// It’s naïve: “don’t” costs 5°\n",
};

t.test("texts are what iconv makes of them, in every encoding of their language", async (t) => {
  const rows: [keyof typeof comments, string[]][] = [
    ["japanese", ["CP932", "SHIFT_JIS", "EUC-JP", "ISO-2022-JP"]],
    ["simplified", ["GB2312", "GBK", "GB18030"]],
    ["traditional", ["BIG5"]],
    ["korean", ["EUC-KR", "CP949"]],
    ["french", ["WINDOWS-1252", "ISO-8859-1"]],
    ["german", ["WINDOWS-1252"]],
    ["spanish", ["ISO-8859-1"]],
    ["danish", ["ISO-8859-1"]],
    ["portuguese", ["ISO-8859-1"]],
    ["english", ["WINDOWS-1252"]],
  ];
  for (const [language, encodings] of rows) {
    const text = source + comments[language];
    for (const encoding of [...encodings, "UTF-8"]) {
      const blob = iconv(text, "UTF-8", encoding);
      t.equal(textOfBlob(blob).text.toString(), text, `${language} in ${encoding}`);
    }
    for (const encoding of ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE", "UTF-8"]) {
      const marked = iconv(`\ufeff${text}`, "UTF-8", encoding);
      t.equal(textOfBlob(marked).text.toString(), text, `${language} in ${encoding} with a mark`);
    }
  }
  t.equal(textOfBlob(iconv(source, "UTF-8", "UTF-16LE")).text.toString(), source, "UTF-16 without a mark");
  t.equal(textOfBlob(iconv(source, "UTF-8", "UTF-16BE")).text.toString(), source, "UTF-16 without a mark");
  t.equal(textOfBlob(iconv("\ufeffa😀b", "UTF-8", "UTF-32LE")).text.toString(), "a😀b");
});

t.test("little evidence is no certainty", async (t) => {
  const latin = (text: string): string => textOfBlob(Buffer.from(text, "latin1")).kind;
  for (const text of ["c\xe9", "\xe9t", "\xfc", "a \xe0\n", "\xa9", "5\xb0\n", "x=\xe9c\n"])
    t.equal(latin(text), "bytes", text);
  for (const text of [
    "caf\xe9",
    "M\xfcller\n",
    "\xe9t\xe9\n",
    "Copyright \xa9 2003 Acme\n",
    "turn it by 90\xb0, then on\n",
  ])
    t.equal(latin(text), "text", text);
});

t.test("what is not certain stays as it is", async (t) => {
  const rows: [string, string][] = [
    ["Přečte soubor a vrátí číslo řádku", "CP1250"],
    ["Żółta gęś się pasie, błąd", "ISO-8859-2"],
    ["Читает файл и возвращает номер", "CP1251"],
    ["Читает файл и возвращает номер", "KOI8-R"],
    ["Διαβάζει το αρχείο", "CP1253"],
    ["Dosyayı okur, değişken ışık", "CP1254"],
    ["Straße für Müller größer", "CP850"],
    ["Où est la forêt ?", "MACINTOSH"],
  ];
  for (const [text, encoding] of rows) {
    const blob = iconv(text, "UTF-8", encoding);
    const found = textOfBlob(blob);
    t.equal(found.kind, "bytes", `${text} in ${encoding}`);
    t.ok(found.text.equals(blob), "and is not changed");
  }
  const other: [string, Buffer][] = [
    ["invalid UTF-8", Buffer.from("text \xff\xfe\x80 text", "latin1")],
    ["UTF-8 that is cut", Buffer.from("größer").subarray(0, 3)],
    ["with control characters", Buffer.from("\x01\x02 caf\xe9", "latin1")],
    ["a mark and other bytes", Buffer.from("\xef\xbb\xbfx \xff", "latin1")],
  ];
  for (const [name, blob] of other) t.equal(textOfBlob(blob).kind, "bytes", name);
});

t.test("binaries are not decoded", async (t) => {
  for (const path of [process.execPath, "/bin/ls"]) {
    const blob = readFileSync(path).subarray(0, 1 << 20);
    t.equal(textOfBlob(blob).kind, "binary", path);
  }
  const rows: [string, Buffer][] = [
    ["UTF-16 with an odd number of bytes", Buffer.from("\xff\xfea\0b", "latin1")],
    ["half of a surrogate pair", Buffer.from("\xff\xfea\0\0\xd8", "latin1")],
    ["a NUL character", Buffer.from("\xff\xfea\0\0\0", "latin1")],
    ["small numbers of two bytes", Buffer.from(Uint16Array.from({ length: 400 }, (_, i) => i).buffer)],
  ];
  for (const [name, blob] of rows) t.equal(textOfBlob(blob).kind, "binary", name);
  t.equal(textOfBlob(Buffer.alloc(0)).kind, "text", "an empty file");
  t.equal(textOfBlob(Buffer.from("\xff\xfe", "latin1")).text.length, 0, "a mark alone");
});
