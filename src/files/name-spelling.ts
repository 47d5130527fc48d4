/**
 * Gives all spellings of one file name that a file system may take for the same the same form. Used for comparing and for
 * keys, never for opening: the form may be the name of no file.
 *
 * A path is a string of one character per byte (latin1) here, because a file name need not be UTF-8.
 *
 * The form is at least as coarse as any file system's own: it ignores what one of them ignores (case, normalization,
 * characters that are not displayed, dots and blanks at the end). So two files may share a form where their file system
 * tells them apart, as `straße` and `STRASSE` on NTFS; they then share a lock. The other way round two holders would
 * write one file.
 */

/** Turns a path into one character per byte. */
export function textOf(path: string | Buffer): string {
  return (typeof path === "string" ? Buffer.from(path) : path).toString("latin1");
}

export function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** Returns the common form of a name in a folder that tells capitals apart, or, with `folds`, in one that does not. */
export function formOf(name: string, folds: boolean): string {
  const isAscii = !/[\x80-\xff]/.test(name);
  if (isAscii) return folds ? orItself(name.toLowerCase().replace(TRAILING, ""), name) : name;
  const bytes = bytesOf(name);
  const text = bytes.toString();
  // mutant: form-bytes: if (!Buffer.from(text).equals(bytes)) return name; →
  if (!Buffer.from(text).equals(bytes)) return name;
  return textOf(folds ? orItself(folded(text), text) : text.normalize("NFC"));
}

const TRAILING = /[. ]+$/;

/** Lower case comes first for capitals whose small letter has two capitals: ẞ, ß, SS. */
function folded(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ")
    .normalize("NFC")
    .replace(TRAILING, "");
}

/** A name that is all dots has no form without them. */
function orItself(form: string, name: string): string {
  return form === "" ? name : form;
}
