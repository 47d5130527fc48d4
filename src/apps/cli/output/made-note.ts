/** Says that a command made a workspace, because there was none. */
export function madeNote(root: string): string {
  return `made a workspace in ${root}, because there was none; holdfast init says that it is meant to be one`;
}
