import react from '@vitejs/plugin-react'

const names = {entryFileNames: 'assets/[name].js', chunkFileNames: 'assets/[name].js', assetFileNames: 'assets/[name][extname]'}
export default {plugins: [react()], build: {rollupOptions: {output: names}}}
