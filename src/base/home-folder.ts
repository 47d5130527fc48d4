/** Names `.holdfast`, the folder in which a workspace or a deliverable keeps Holdfast's own files. */
export const HOME = ".holdfast";
