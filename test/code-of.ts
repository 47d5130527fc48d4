/** The code of the error that this ends with, the error itself as text when it has none, null when it succeeds. */
export async function codeOf(work: Promise<unknown>): Promise<string | null> {
  return work.then(
    () => null,
    (error: { readonly code?: string }) => error.code ?? String(error),
  );
}
