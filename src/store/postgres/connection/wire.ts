/** The internal interface of the driver's connection, for queries that bypass the driver. */
export interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Record<string, string | undefined>;
  parse(statement: { readonly name: string; readonly text: string; readonly types?: readonly number[] }): void;
  bind(portal: { readonly portal?: string; readonly statement: string; readonly values: readonly unknown[] }): void;
  execute(portal: { readonly portal: string; readonly rows?: number }): void;
  close(statement: { readonly type: "S"; readonly name: string }): void;
  sync(): void;
}
