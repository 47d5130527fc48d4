/** The folder in which a workspace, or a deliverable, keeps its own things. */
export const HOME = ".holdfast";
