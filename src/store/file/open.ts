export async function openFileStore(): Promise<never> { throw new Error("x"); }
