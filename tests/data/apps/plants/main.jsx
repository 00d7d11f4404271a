import {StrictMode, Suspense, lazy, useEffect, useState} from 'react'
import {createRoot} from 'react-dom/client'
import {BrowserRouter, Link, Route, Routes} from 'react-router-dom'
import './main.css'

const Plant = lazy(() => import('./plant.jsx'))

function Plants() {
  const [plants, setPlants] = useState([])
  useEffect(() => {
    document.title = 'Plants'
    fetch('/api/plants.json').then(answer => answer.json()).then(setPlants)
  }, [])
  return (
    <main>
      <h1>Plants</h1>
      <ul>{plants.map(plant => <li key={plant.id}><Link to={`/plant/${plant.id}`}>{plant.name}</Link></li>)}</ul>
    </main>
  )
}

createRoot(document.getElementById('root')).render(
  <StrictMode>
    <BrowserRouter>
      <Suspense fallback={<p>One moment</p>}>
        <Routes>
          <Route path="/" element={<Plants />} />
          <Route path="/plant/:id" element={<Plant />} />
        </Routes>
      </Suspense>
    </BrowserRouter>
  </StrictMode>,
)
