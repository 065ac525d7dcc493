import type { DecodedText, TextEncoding } from "./decoded-text.js";

/**
 * The natural logarithm of how much more probable a common character of the language is in a text that was decoded with the
 * right encoding than in one that was not, where the characters are as good as random; and the same for another one.
 */
const commonWeight = 2.2;
const otherWeight = -0.7;

/** An encoding is certain if it is e^9, eight thousand times, as probable as no encoding, and as every other one. */
const certainty = 9;

/** One character can be there by chance, and often. */
const distinctMin = 4;

/** The encoding is decided by this many bytes, from the line of the first character that is not ASCII; all must be valid. */
const sampleBytesMax = 1 << 18;

interface Candidate {
  readonly encoding: TextEncoding;
  /** The name in the WHATWG encoding standard. */
  readonly label: string;
  readonly isCommon: (point: number) => boolean;
}

/**
 * The most frequent characters of texts in four languages, which make up 88 to 96 percent of the ideographs or syllables
 * in running text.
 */
const common = {
  /** Without the two syllabaries, all of which are common. */
  japanese: listPoints(
    "一七万三上下不与世両並中主九了予事二互五京人今仕他付代令以件休会位住体何作使例依保信修個借値停側備像元兄先入" +
      "全八公六共内円再写冬処出分切列初別利制刷刻削前割力加効勉動化北区医十千午半南単印却去参友取受口古句可台右号各" +
      "合同名向否含告味呼命品員問四回囲図国土圧在地型域基堂報場境売変夏夕外多夜大天失女妹姉始子字存学安完定実宣室家" +
      "容密対封小少屋属山川工左帰常年広序店度庫建式引弟張強当形待後得御復心必応思急性悪情想意態成戻所手扱承択拒拡持" +
      "指接換操敗教数整文料断新方旅族既日旧早明映春昼時暗曜更書替最月有服朝期木未末本条来東析果査校格検業楽構標権機" +
      "次歌止正歩死母毎比気水求決法注洋浮海済準演漢火点無照父牛物特犬状現理環生用田男町画界留番異病発登白百的目直相" +
      "真着知短研破確示社私秋秒移種究空突立端競符筒答算範築約紙素索細終組経結統継続縮置義習考者聞肉能自致色花英茶行" +
      "表装製複西要見規視覧親解言計記設許証試話詳認語誤読論識警象買貸質赤走起超足車転較辞込近返述追送通連週進遅運過" +
      "道達違適選部配重野量金銀録長閉開間関限院除際集雨電青非音項順領頭題類風食飯飲館駅験高魚鳥黒",
  ),
  chineseSimplified: listPoints(
    "一三上下不与世业东两个中串为主么义之也书了事二于些交产人什从仓他代令以们件任会但位体何作你使保信修值做像儿允" +
      "先入全公关其具内再写军冲准几出分列则创删利别到制前力加务动助包化匹区十单印压原去参又及反发取受变口只可号各合" +
      "同名后向否含启告员命和器四回因围国图在地场块型基声处备复外多大天太失头女她好如始子字存学它安完定实家容宽密对" +
      "将小少尔就展山工己已市常平年并序库应度建开式引归当录径很得德心必忽态性总息您情想意感成我或战户所手才打执找把" +
      "报择持指按换据排接提操支改放政效教数整文斯新方无日时明是显更最月有服期未本机条来析果查标栏样格框档检模次止正" +
      "此比民气水没法注活海消添源点然版物特状现理生用由电略的目直相看真着知码确示神种称移程空窗立端符第等签算管类系" +
      "索级线组经结给统缓编缩置美老者而能自至色节获菜行补表被装西要见规视解警计认记许论设证识试话该语误说请读调象败" +
      "资走起超距跟路身软载输边达过运还这进远连退送选通道那部都配里重量金钥钮错键长门问间限除需非面页项题验高默",
  ),
  chineseTraditional: listPoints(
    "一三上下不世並中串主之也了事二些人什他代令以件任份伺但位何作你使來供信個們值做停備傳像允元先兒入內全兩公其再" +
      "出函分列別利刪到制則前力功加動務包化區十印原去參又及反取受口只可右各合同名向否含告命和員問啟單器四回因國圍圖" +
      "在地址型執報場壓外多大天太失女她好如始子字存學它安完定家容密實寫封將尋對小少就尾屬山工左己已市常平年幾序度建" +
      "式引影很後徑得從德心必忽性息您情想意感態憶應成我或戰所手才打找把指排接描提換援搜擇支改放政效敗教整數文料斯新" +
      "方於日明是時暫更最會月有服期未本束東析果查格案條業標模樣機檔檢權次止正此每比民氣水求沒法活流海清源準為無然爾" +
      "版物特狀現理生產用由略當發的目直相看真知確碼示神移程種稱空立端符第等算管範籤系紙素終組結給統經網線編縮總缺置" +
      "美義翻老者而聲能自至與色著處號行衝表被裝裡製複西要見規視解計訊記設許試話該認語誤說請論證識警譯讀變資走起超路" +
      "身軍軟載輸轉述這通連進過道選還那部都配重量金錄錯鍵長門閉開間關限除集電需非面音頁項須預頭題類顯體高麼點",
  ),
  korean: listPoints(
    "가각간값같개거건검것게결경계고공과관구국권규그근금기길까꾸꿀끝나남내냅너널는능니닌닙다단닫당대더던데덱도동되" +
      "된될됨됩두뒤드든들등디딩따때또뜀라래랜램러럼레렉려력렬령로록롤롯료룹류르른를름리릭린릴림립링마막만말맞매메며" +
      "면명모목못무문물미밀및바반받발방배백버번범법벗베변별보복본볼부분불붙뷰브블비빠사삭산상새색생서석선설성세셋션" +
      "셸소속쇄수순숫스슬습시식신실심십쓰쓸아안않알암압았야약양어언업없었에여역연열영예오올옵와완외요용우운워원위유" +
      "으은을음의이인일읽임입있자작잘잠장재잭저적전절점접정제져졌조존종주준줄중증지직진집째쪽참찾처청체초최추축출취" +
      "치칙카칼커컨케코쿼퀀크큰클키타태택터턴테텍템토통트티파패퍼페포표프플필하학한할함합항해했행향허헤현형호화확환" +
      "활회후",
  ),
} as const;

const isJapanese = (point: number): boolean => isKana(point) || common.japanese.has(point);
const isKana = (point: number): boolean => point >= 0x3041 && point <= 0x30fe;

const candidates: readonly Candidate[] = [
  { encoding: "GB18030", label: "gb18030", isCommon: (point) => common.chineseSimplified.has(point) },
  { encoding: "BIG5", label: "big5", isCommon: (point) => common.chineseTraditional.has(point) },
  { encoding: "CP932", label: "shift_jis", isCommon: isJapanese },
  { encoding: "EUC-JP", label: "euc-jp", isCommon: isJapanese },
  { encoding: "CP949", label: "euc-kr", isCommon: (point) => common.korean.has(point) },
];

/**
 * A text without NUL that is not UTF-8, in the East Asian encoding that is certain; undefined if none is. Most texts are
 * valid in several of these encodings, but only in the right one are the characters those that are frequent in its language.
 */
export function decodeEastAsian(blob: Buffer): DecodedText | undefined {
  const sample = takeSample(blob);
  let best: Candidate | undefined;
  let bestScore = 0;
  let nextScore = 0;
  for (const candidate of candidates) {
    const text = decodeStrictly(sample, candidate.label);
    const score = text === undefined ? 0 : scoreText(text, candidate);
    if (score > bestScore) {
      nextScore = bestScore;
      bestScore = score;
      best = candidate;
    } else if (score > nextScore) nextScore = score;
  }
  if (best === undefined || bestScore - nextScore < certainty) return undefined;
  const text = decodeStrictly(blob, best.label);
  return text === undefined ? undefined : { text, encoding: best.encoding };
}

/** An ASCII text with escape sequences that select Japanese characters, if it has such characters. */
export function decodeIso2022Jp(blob: Buffer): string | undefined {
  if (!blob.includes("\x1b$")) return undefined;
  const text = decodeStrictly(blob, "iso-2022-jp");
  return text === undefined || text.includes("\x1b") ? undefined : text;
}

/** Whole lines, because a line feed is never part of another character. */
function takeSample(blob: Buffer): Buffer {
  if (blob.length <= sampleBytesMax) return blob;
  const first = blob.findIndex((byte) => byte >= 128);
  const from = blob.lastIndexOf(lineFeed, first) + 1;
  const end = from + sampleBytesMax;
  return blob.subarray(from, end >= blob.length ? blob.length : blob.lastIndexOf(lineFeed, end) + 1);
}

function scoreText(text: string, { isCommon }: Candidate): number {
  let score = 0;
  const found = new Set<number>();
  for (let i = 0; i < text.length; i++) {
    const point = text.charCodeAt(i);
    // Punctuation, full-width forms and half-width syllables say nothing, because they are in all of these encodings.
    if (point < 0x2e80 || (point >= 0x3000 && point < 0x3041) || point >= 0xff00) continue;
    const isLikely = isCommon(point);
    score += isLikely ? commonWeight : otherWeight;
    if (isLikely && found.size < distinctMin) found.add(point);
  }
  return found.size < distinctMin ? Math.min(score, 0) : score;
}

/** Undefined for invalid bytes, and if this build of Node does not know the encoding. */
function decodeStrictly(bytes: Buffer, label: string): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function listPoints(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (character) => character.charCodeAt(0)));
}

const lineFeed = 10;
